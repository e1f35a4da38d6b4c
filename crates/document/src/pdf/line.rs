//! From letters to lines, and the order in which a person reads them.

use crate::language::is_wide;
use crate::line::{Frame, Line, Spot};

use super::glyph::{Glyph, PageGlyphs};

/// A gap wider than this many ems ends a line: it is the gutter between columns, or sets two names apart.
const GUTTER: f32 = 1.2;

/// The lines of a page in reading order.
pub(super) fn lines(page: PageGlyphs, number: u32) -> Vec<Line> {
    let size = page.size;
    let runs = attach_marks(merge_rows(runs(page.glyphs)));
    let lines = runs.into_iter().filter_map(|run| run.into_line(number, size)).collect();
    reading_order(lines, size.0)
}

/// Letters that follow each other on one baseline.
struct Run {
    glyphs: Vec<Glyph>,
    left: f32,
    right: f32,
    baseline: f32,
    size: f32,
}

impl Run {
    fn new(glyph: Glyph) -> Self {
        Run { left: glyph.left, right: glyph.right, baseline: glyph.baseline, size: glyph.size, glyphs: vec![glyph] }
    }

    /// Whether a letter drawn after this run continues it: close by, and on its baseline or raised or lowered from it.
    fn takes(&self, glyph: &Glyph) -> bool {
        let em = self.size.max(glyph.size);
        let gap = glyph.left - self.right;
        let near = gap > -0.6 * em && gap < GUTTER * em && glyph.left >= self.left;
        // A drop capital is three lines tall; the text beside it does not continue it.
        let alike = self.size < 2.2 * glyph.size && glyph.size < 2.2 * self.size;
        let smaller = self.size.min(glyph.size) < 0.85 * em;
        let shift = if smaller { 0.5 } else { 0.25 };
        near && alike && (glyph.baseline - self.baseline).abs() < shift * em
    }

    fn push(&mut self, glyph: Glyph) {
        // A run that began with a raised mark becomes a run of what follows the mark.
        if glyph.size > 1.15 * self.size {
            self.size = glyph.size;
            self.baseline = glyph.baseline;
        }
        self.left = self.left.min(glyph.left);
        self.right = self.right.max(glyph.right);
        self.glyphs.push(glyph);
    }

    fn absorb(&mut self, other: Run) {
        if other.size > 1.15 * self.size {
            self.size = other.size;
            self.baseline = other.baseline;
        }
        self.left = self.left.min(other.left);
        self.right = self.right.max(other.right);
        self.glyphs.extend(other.glyphs);
    }

    fn into_line(mut self, number: u32, page: (f32, f32)) -> Option<Line> {
        self.glyphs.sort_by(|a, b| a.left.total_cmp(&b.left));
        set_accents(&mut self.glyphs);
        let size = commonest_size(&self.glyphs)?;
        let (mut text, mut marked) = (String::new(), String::new());
        let mut previous: Option<&Glyph> = None;
        let (mut letters, mut bold, mut space) = (0, 0, false);
        let (mut top, mut bottom) = (f32::MAX, f32::MIN);
        for glyph in &self.glyphs {
            if glyph.text.trim().is_empty() {
                space = true;
                continue;
            }
            if let Some(before) = previous {
                let gap = glyph.left - before.right;
                let close = before.text.chars().next_back().is_some_and(is_wide)
                    || glyph.text.chars().next().is_some_and(is_wide);
                // Words are a quarter of an em apart; Chinese next to Latin is set off by as much without meaning a space.
                if space && gap > -0.3 * size || gap > if close { 0.4 } else { 0.17 } * size {
                    text.push(' ');
                    marked.push(' ');
                }
            }
            space = false;
            let raised = glyph.size < 0.85 * size && self.baseline - glyph.baseline > 0.15 * size;
            if !raised {
                marked.push_str(&glyph.text);
            } else if !marked.trim_end().ends_with(';') {
                marked.push(';');
            }
            text.push_str(&glyph.text);
            letters += 1;
            bold += usize::from(glyph.bold);
            top = top.min(glyph.baseline - 0.85 * glyph.size);
            bottom = bottom.max(glyph.baseline + 0.22 * glyph.size);
            previous = Some(glyph);
        }
        if letters == 0 {
            return None;
        }
        let visible = |glyph: &&Glyph| !glyph.text.trim().is_empty();
        let left = self.glyphs.iter().find(visible).map_or(self.left, |glyph| glyph.left);
        let right = self.glyphs.iter().filter(visible).map(|glyph| glyph.right).fold(left, f32::max);
        let frame = Frame { left, right, top, bottom, baseline: self.baseline, page };
        Some(Line { text, marked, size, bold: bold * 2 > letters, spot: Spot::Page(number, frame) })
    }
}

/// Put accents that were drawn by themselves on the letters below them, as TeX's older fonts need.
fn set_accents(glyphs: &mut Vec<Glyph>) {
    let mut placed = vec![false; glyphs.len()];
    for index in 0..glyphs.len() {
        let Some((_, bases, letters)) = ACCENTS.iter().find(|(accent, ..)| glyphs[index].text.chars().eq([*accent]))
        else {
            continue;
        };
        let centre = (glyphs[index].left + glyphs[index].right) / 2.0;
        let neighbours = [index.checked_sub(1), Some(index + 1)].into_iter().flatten();
        let home = neighbours.filter(|at| *at < glyphs.len()).find_map(|at| {
            let below = glyphs[at].left <= centre && centre <= glyphs[at].right;
            let base = glyphs[at].text.chars().next().filter(|_| below && glyphs[at].text.chars().count() == 1)?;
            let letter = bases.chars().zip(letters.chars()).find(|(plain, _)| *plain == base)?.1;
            Some((at, letter))
        });
        if let Some((at, letter)) = home {
            glyphs[at].text = letter.to_string();
            placed[index] = true;
        }
    }
    let mut placed = placed.into_iter();
    glyphs.retain(|_| !placed.next().unwrap_or(false));
}

/// Accents that stand alone, the letters they go on, and what that makes.
const ACCENTS: &[(char, &str, &str)] = &[
    ('´', "aeiıouyAEIOUYcnszCNSZ", "áéííóúýÁÉÍÓÚÝćńśźĆŃŚŹ"),
    ('`', "aeiıouAEIOU", "àèììòùÀÈÌÒÙ"),
    ('¨', "aeiıouyAEIOU", "äëïïöüÿÄËÏÖÜ"),
    ('ˆ', "aeiıouAEIOU", "âêîîôûÂÊÎÔÛ"),
    ('˜', "anoANO", "ãñõÃÑÕ"),
    ('ˇ', "cdenrszCDENRSZ", "čďěňřšžČĎĚŇŘŠŽ"),
    ('¸', "csCS", "çşÇŞ"),
    ('˚', "auAU", "åůÅŮ"),
    ('˘', "agAG", "ăğĂĞ"),
    ('˝', "ouOU", "őűŐŰ"),
];

/// The size most letters have, to a quarter of a point.
fn commonest_size(glyphs: &[Glyph]) -> Option<f32> {
    let mut sizes: Vec<i32> = glyphs
        .iter()
        .filter(|glyph| !glyph.text.trim().is_empty())
        .map(|glyph| (glyph.size * 4.0).round() as i32)
        .collect();
    sizes.sort_unstable();
    // Of equally common sizes the larger, which comes later.
    let commonest = sizes.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len())?;
    Some(*commonest.first()? as f32 / 4.0)
}

fn runs(glyphs: Vec<Glyph>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for glyph in glyphs {
        match runs.last_mut() {
            Some(run) if run.takes(&glyph) => run.push(glyph),
            _ => runs.push(Run::new(glyph)),
        }
    }
    // Spaces drawn on their own only come between things.
    runs.retain(|run| run.glyphs.iter().any(|glyph| !glyph.text.trim().is_empty()));
    runs
}

/// Put together what stands on one baseline with no gutter between, however it was drawn.
fn merge_rows(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by(|a, b| a.baseline.total_cmp(&b.baseline).then(a.left.total_cmp(&b.left)));
    let mut merged: Vec<Run> = Vec::new();
    let mut row: Vec<Run> = Vec::new();
    let flush = |row: &mut Vec<Run>, merged: &mut Vec<Run>| {
        row.sort_by(|a, b| a.left.total_cmp(&b.left));
        let start = merged.len();
        for run in row.drain(..) {
            match merged[start..].last_mut() {
                Some(last) if run.left - last.right < GUTTER * last.size.max(run.size) => last.absorb(run),
                _ => merged.push(run),
            }
        }
    };
    for run in runs {
        let same = row.first().is_some_and(|first| run.baseline - first.baseline < 0.25 * first.size.min(run.size));
        if !same {
            flush(&mut row, &mut merged);
        }
        row.push(run);
    }
    flush(&mut row, &mut merged);
    merged
}

/// Give raised marks that were drawn apart back to the line they belong to.
fn attach_marks(runs: Vec<Run>) -> Vec<Run> {
    let (marks, mut lines): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.glyphs.len() <= 4);
    let mut rest = Vec::new();
    // Sorted by baseline already; a mark's line is among the few that follow it.
    for mark in marks {
        let from = lines.partition_point(|line| line.baseline <= mark.baseline);
        let home = lines[from..].iter_mut().take(8).find(|line| {
            let raise = line.baseline - mark.baseline;
            mark.size < 0.85 * line.size
                && raise > 0.15 * line.size
                && raise < 0.7 * line.size
                && mark.left > line.left
                && mark.left < line.right + 0.8 * line.size
        });
        match home {
            Some(line) => {
                line.right = line.right.max(mark.right);
                line.glyphs.extend(mark.glyphs);
            }
            None => rest.push(mark),
        }
    }
    lines.extend(rest);
    lines
}

/// Sort lines as they are read: from the top, and where the page has two columns the left one before the right one. Lines that
/// cross the gutter divide the page into bands.
fn reading_order(mut lines: Vec<Line>, width: f32) -> Vec<Line> {
    let frame = |line: &Line| line.frame().expect("lines of a page have frames");
    lines.sort_by(|a, b| frame(a).baseline.total_cmp(&frame(b).baseline).then(frame(a).left.total_cmp(&frame(b).left)));
    let mut ordered = Vec::with_capacity(lines.len());
    let Some(gutter) = gutter(&lines.iter().map(frame).collect::<Vec<_>>(), width) else {
        // Within a row from the left, although one piece may stand a hair higher than another.
        let mut row: Vec<Line> = Vec::new();
        for line in lines {
            if row.first().is_some_and(|first| !first.beside(&line)) {
                row.sort_by(|a, b| frame(a).left.total_cmp(&frame(b).left));
                ordered.append(&mut row);
            }
            row.push(line);
        }
        row.sort_by(|a, b| frame(a).left.total_cmp(&frame(b).left));
        ordered.append(&mut row);
        return ordered;
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for line in lines {
        let Frame { left: from, right: to, .. } = frame(&line);
        if to <= gutter + 2.0 {
            left.push(line);
        } else if from >= gutter - 2.0 {
            right.push(line);
        } else {
            ordered.append(&mut left);
            ordered.append(&mut right);
            ordered.push(line);
        }
    }
    ordered.append(&mut left);
    ordered.append(&mut right);
    ordered
}

/// Where the white between two columns runs, if the page has two.
fn gutter(frames: &[Frame], width: f32) -> Option<f32> {
    let wide = |frame: &&Frame| frame.right - frame.left > 0.15 * width;
    let mut best: Option<(usize, f32, f32)> = None;
    for percent in 30..=70 {
        let x = width * percent as f32 / 100.0;
        let left = frames.iter().filter(wide).filter(|frame| frame.right <= x + 2.0).count();
        let right = frames.iter().filter(wide).filter(|frame| frame.left >= x - 2.0).count();
        let crossing = frames.iter().filter(|frame| frame.left < x - 2.0 && frame.right > x + 2.0).count();
        // Two columns have many lines on either side; a table or a row of names has few.
        if left.min(right) >= 6 && crossing <= 3 * left.min(right) / 2 {
            let off_centre = (x - width / 2.0).abs();
            if best.is_none_or(|(fewest, _, distance)| (crossing, off_centre) < (fewest, distance)) {
                best = Some((crossing, x, off_centre));
            }
        }
    }
    best.map(|(_, x, _)| x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str, left: f32, baseline: f32, size: f32) -> Vec<Glyph> {
        let width = 0.5 * size;
        let glyph = |(index, c): (usize, char)| Glyph {
            text: c.to_string(),
            left: left + index as f32 * width,
            right: left + (index + 1) as f32 * width,
            baseline,
            size,
            bold: false,
        };
        text.chars().enumerate().map(glyph).collect()
    }

    fn read(glyphs: Vec<Glyph>) -> Vec<Line> {
        lines(PageGlyphs { glyphs, size: (600.0, 800.0), ..PageGlyphs::default() }, 1)
    }

    #[test]
    fn raised_marks_part_names() {
        let mut glyphs = word("Ann Lee", 100.0, 100.0, 10.0);
        glyphs.extend(word("1", 135.0, 96.0, 6.0));
        glyphs.extend(word("Bo", 141.0, 100.0, 10.0));
        let lines = read(glyphs);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text, "Ann Lee1 Bo");
        assert_eq!(lines[0].marked, "Ann Lee; Bo");
    }

    #[test]
    fn accents_drawn_apart_find_their_letters() {
        let mut glyphs = word("Scholkopf", 100.0, 100.0, 10.0);
        glyphs.insert(4, Glyph { left: 115.5, right: 119.5, ..word("¨", 115.5, 100.0, 10.0).remove(0) });
        glyphs.swap(3, 4);
        assert_eq!(read(glyphs)[0].text, "Schölkopf");
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let mut glyphs = word("A title across both of the columns of this page", 100.0, 50.0, 16.0);
        for row in 0..8 {
            glyphs.extend(word(&format!("left {row} of the two columns"), 50.0, 100.0 + 12.0 * row as f32, 10.0));
            glyphs.extend(word(&format!("right {row} of the two columns"), 320.0, 100.0 + 12.0 * row as f32, 10.0));
        }
        let texts: Vec<String> = read(glyphs).into_iter().map(|line| line.text).collect();
        assert!(texts[0].starts_with("A title") && texts[1].starts_with("left 0"));
        assert!(texts[8].starts_with("left 7") && texts[9].starts_with("right 0"));
    }
}
