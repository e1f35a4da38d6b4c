//! The letters of a page: which, where, how large. A device for the interpreter that draws nothing and notes everything.

use std::collections::HashMap;

use hayro_interpret::font::{Glyph as FontGlyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::kurbo::{BezPath, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt, interpret_page,
};
use hayro_syntax::Pdf;

use crate::foreign::{self, Failure};
use crate::language::is_wide;

/// How much drawing a page may hold. A dense page of text has 10,000 letters, a map 200,000 paths; beyond this is an attack or a
/// mistake, and reading on would hold up the queue.
const MAX_WORK: usize = 1_000_000;

/// A letter costs memory as well, and so counts as several paths.
const WORK_PER_GLYPH: usize = 4;

/// Every form drawn clips first, and forms in forms can double at each level: this is what bounds them.
const WORK_PER_CLIP: usize = 10;

/// An image counts as one piece of work for every so many of its pixels: decoding, not drawing, is its price.
const PIXELS_PER_WORK: u64 = 1000;

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
    /// The page's width and height in points, as it is shown.
    pub(crate) size: (f32, f32),
}

impl PageGlyphs {
    /// Whether too many letters have no meaning for the text to be trusted. A formula font or a few symbols without meaning are usual.
    pub(crate) fn is_garbled(&self) -> bool {
        self.unmapped > 20 && self.unmapped * 4 > self.glyphs.len()
    }
}

/// Read the letters of a page, counted from 0. The cache holds the document's fonts from page to page; after a failure it may be
/// half-made and must not be used again.
pub(crate) fn glyphs<'a>(pdf: &'a Pdf, index: usize, cache: &InterpreterCache<'a>) -> Result<PageGlyphs, Failure> {
    foreign::call(|| {
        let Some(page) = pdf.pages().get(index) else { return PageGlyphs::default() };
        let (width, height) = page.render_dimensions();
        let frame = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let settings = InterpreterSettings::default();
        let mut context = Context::new(page.initial_transform(true).to_kurbo(), frame, cache, page.xref(), settings);
        let mut collector =
            Collector { page: PageGlyphs { size: (width, height), ..PageGlyphs::default() }, ..Collector::default() };
        interpret_page(page, &mut context, &mut collector);
        collector.page
    })
}

#[derive(Default)]
struct Collector {
    page: PageGlyphs,
    work: usize,
    /// Where each character was last drawn, by cells of a point: finds what is drawn twice.
    drawn: HashMap<(char, i32, i32), (f32, f32)>,
}

impl Collector {
    fn work(&mut self, amount: usize) {
        self.work = self.work.saturating_add(amount);
        if self.work > MAX_WORK {
            foreign::enough();
        }
    }

    /// Whether the same character was drawn at nearly the same place before: outlines are drawn after fills, and poor
    /// men's bold is the same text again a little to the side.
    fn is_repeated(&mut self, first: char, glyph: &Glyph) -> bool {
        let reach = (0.2 * glyph.size).min(0.5 * (glyph.right - glyph.left).abs()).max(0.05);
        // The cell is as large as the reach of the largest usual text, so that neighbours suffice.
        let cell = |value: f32| (value / 4.0).floor() as i32;
        let (x, y) = (cell(glyph.left), cell(glyph.baseline));
        for (dx, dy) in [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)] {
            if let Some((left, baseline)) = self.drawn.get(&(first, x.wrapping_add(dx), y.wrapping_add(dy)))
                && (left - glyph.left).abs() < reach
                && (baseline - glyph.baseline).abs() < reach
            {
                return true;
            }
        }
        self.drawn.insert((first, x, y), (glyph.left, glyph.baseline));
        false
    }
}

impl<'a> Device<'a> for Collector {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        self.work(1 + WORK_PER_GLYPH * run.glyphs().len());
        let bold = run.glyphs().first().is_some_and(|glyph| is_bold(glyph));
        for glyph in run.glyphs() {
            let [a, b, c, d, x, y] = (props.transform * glyph.transform()).as_coeffs();
            let size = c.hypot(d) * 1000.0;
            // Text that runs along the edge of the page (a stamp of the archive it came from) is not part of it.
            let upright = a > 0.0 && b.abs() < 0.1 * a && d < 0.0;
            let (width, height) = self.page.size;
            let inside = (-1.0..=f64::from(width) + 1.0).contains(&x) && (-1.0..=f64::from(height) + 1.0).contains(&y);
            if !upright || !inside || !(0.5..=2000.0).contains(&size) {
                continue;
            }
            let Some(text) = reading(glyph) else {
                self.page.unmapped += 1;
                continue;
            };
            let Some(first) = text.chars().next() else { continue };
            let advance = match &**glyph {
                FontGlyph::Outline(outline) => outline.advance_width(),
                FontGlyph::Type3(type3) => type3.advance_width(),
            };
            let advance = advance.map(|units| f64::from(units) * a).filter(|width| *width > 0.0 && *width < 3.0 * size);
            let advance = advance.unwrap_or(if is_wide(first) { size } else { 0.5 * size });
            let glyph = Glyph {
                text,
                left: x as f32,
                right: (x + advance) as f32,
                baseline: y as f32,
                size: size as f32,
                bold,
            };
            if first.is_whitespace() || !self.is_repeated(first, &glyph) {
                self.page.glyphs.push(glyph);
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.work(1);
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.work(WORK_PER_CLIP);
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.work(1);
    }

    fn draw_image(&mut self, image: Image<'a, '_>, _: ImageDrawProps<'a>) {
        let pixels = u64::from(image.width()) * u64::from(image.height());
        self.work(1 + usize::try_from(pixels / PIXELS_PER_WORK).unwrap_or(MAX_WORK));
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

/// Whether a glyph's font is bold. Type 1 fonts do not say.
fn is_bold(glyph: &FontGlyph<'_>) -> bool {
    let FontGlyph::Outline(outline) = glyph else { return false };
    let Some(font) = outline.font_data() else { return false };
    let named = font.postscript_name.as_deref().unwrap_or_default().to_lowercase();
    font.weight.is_some_and(|weight| weight >= 600)
        || ["bold", "black", "heavy", "simhei"].iter().any(|word| named.contains(word))
}

/// What a glyph reads as, with ligatures taken apart; `None` if the file does not say.
fn reading(glyph: &FontGlyph<'_>) -> Option<String> {
    let text = match glyph.as_unicode()? {
        BfString::Char(c) => c.to_string(),
        BfString::String(text) => text,
    };
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
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
