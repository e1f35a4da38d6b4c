//! The letters of a page as the reader of its content notes them down: which, where, how large.

use std::collections::HashMap;

/// One letter (or ligature) on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Glyph {
    /// What it reads as.
    pub(crate) text: String,
    /// Its left edge, in points from the page's left.
    pub(crate) left: f32,
    /// Its right edge.
    pub(crate) right: f32,
    /// Where it stands, in points from the page's top.
    pub(crate) baseline: f32,
    /// Its size in points, from the text matrix and all that scales it.
    pub(crate) size: f32,
    /// Whether its font is bold, as far as the font says.
    pub(crate) bold: bool,
}

/// All letters of a page that stand upright, in the order they are drawn.
#[derive(Debug, Default)]
pub(crate) struct PageGlyphs {
    pub(crate) glyphs: Vec<Glyph>,
    /// How many letters have no known meaning.
    pub(crate) unmapped: usize,
    /// How many pieces of the content could not be unpacked.
    pub(crate) lost: usize,
    /// The page's width and height in points, as it is shown.
    pub(crate) size: (f32, f32),
}

impl PageGlyphs {
    /// Whether too many letters have no meaning for the text to be trusted. A formula font or a few symbols without meaning are usual.
    pub(crate) fn is_garbled(&self) -> bool {
        self.unmapped > 20 && self.unmapped * 4 > self.glyphs.len()
    }
}

/// Finds letters that are drawn twice: outlines are drawn after fills, and poor men's bold is the same text again a little to the side.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// Where each character was last drawn, by cells of four points.
    last: HashMap<(char, i32, i32), (f32, f32), Quick>,
}

impl Drawn {
    /// Whether the same character was drawn at nearly the same place before.
    pub(super) fn is_repeated(&mut self, first: char, glyph: &Glyph) -> bool {
        let reach = (0.2 * glyph.size).min(0.5 * (glyph.right - glyph.left).abs()).max(0.05);
        // The cell is as large as the reach of the largest usual text, so that neighbours suffice.
        let cell = |value: f32| (value / 4.0).floor() as i32;
        let (x, y) = (cell(glyph.left), cell(glyph.baseline));
        // Only the cells that the reach touches are looked into.
        let (left, right) = (cell(glyph.left - reach), cell(glyph.left + reach));
        let (top, bottom) = (cell(glyph.baseline - reach), cell(glyph.baseline + reach));
        for row in top.max(y - 1)..=bottom.min(y + 1) {
            for column in left.max(x - 1)..=right.min(x + 1) {
                if let Some((left, baseline)) = self.last.get(&(first, column, row))
                    && (left - glyph.left).abs() < reach
                    && (baseline - glyph.baseline).abs() < reach
                {
                    return true;
                }
            }
        }
        self.last.insert((first, x, y), (glyph.left, glyph.baseline));
        false
    }
}

/// A hash of a few small numbers: the table is asked several times for every letter, and an attacker gains nothing from collisions that
/// the bound on a page's letters does not cover.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Quick;

impl std::hash::BuildHasher for Quick {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(0)
    }
}

/// See [`Quick`].
pub(super) struct QuickHasher(u64);

impl std::hash::Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(23) ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u32(value as u32);
    }
}

/// A text as it is kept: ligatures taken apart, private characters refused. `None` if nothing with a meaning is left.
pub(super) fn clean(text: &str) -> Option<String> {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => clean.push(c),
            'ﬀ' => clean.push_str("ff"),
            'ﬁ' => clean.push_str("fi"),
            'ﬂ' => clean.push_str("fl"),
            'ﬃ' => clean.push_str("ffi"),
            'ﬄ' => clean.push_str("ffl"),
            'ﬅ' | 'ﬆ' => clean.push_str("st"),
            _ if c.is_whitespace() => clean.push(' '),
            // Private characters and the mark of a failed conversion carry no meaning.
            '\u{e000}'..='\u{f8ff}' | '\u{fffd}' | '\u{f0000}'.. => return None,
            _ if c.is_control() => {}
            _ => clean.push(c),
        }
    }
    if clean.is_empty() { None } else { Some(clean) }
}
