//! A line of text with its looks and place: what every reader produces and every rule reads.

use zhulu_record::Place;

use crate::language::is_wide;

/// One line, or the part of one that stands apart from its neighbours (a column, a name among names).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Its text, raised footnote marks included.
    pub(crate) text: String,
    /// Its text with every raised mark replaced by `;`: what separates one author from the next.
    pub(crate) marked: String,
    /// The size of most of its letters, in points. Readers without sizes give 10 for body text.
    pub(crate) size: f32,
    /// Whether most of it is bold.
    pub(crate) bold: bool,
    /// Where it stands.
    pub(crate) spot: Spot,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spot {
    /// On a page, counted from 1, in this frame.
    Page(u32, Frame),
    /// In a paragraph, counted from 1.
    Paragraph(u32),
    /// On a slide, counted from 1.
    Slide(u32),
}

/// A rectangle on a page in points, from its top left corner; `page` is the page's own width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) right: f32,
    pub(crate) bottom: f32,
    /// Where the letters stand.
    pub(crate) baseline: f32,
    pub(crate) page: (f32, f32),
}

impl Frame {
    /// In thousandths of the page.
    fn thousandths(&self) -> [u16; 4] {
        let scale = |value: f32, whole: f32| (value / whole * 1000.0).clamp(0.0, 1000.0).round() as u16;
        let (width, height) = self.page;
        [scale(self.left, width), scale(self.top, height), scale(self.right, width), scale(self.bottom, height)]
    }
}

impl Line {
    /// The frame, if the line is on a page.
    pub(crate) fn frame(&self) -> Option<Frame> {
        match self.spot {
            Spot::Page(_, frame) => Some(frame),
            Spot::Paragraph(_) | Spot::Slide(_) => None,
        }
    }

    /// Whether two lines stand beside each other on the same page.
    pub(crate) fn beside(&self, other: &Line) -> bool {
        match (self.spot, other.spot) {
            (Spot::Page(page, a), Spot::Page(other_page, b)) => {
                page == other_page && (a.baseline - b.baseline).abs() < 0.3 * self.size.max(other.size)
            }
            _ => false,
        }
    }

    /// Whether two lines on one page have some part of its width in common: one may continue the other.
    pub(crate) fn overlaps(&self, other: &Line) -> bool {
        match (self.frame(), other.frame()) {
            (Some(a), Some(b)) => a.left < b.right && b.left < a.right,
            _ => true,
        }
    }

    /// Whether two lines stand beside each other with no more between them than sets words of a list apart.
    pub(crate) fn neighbours(&self, other: &Line) -> bool {
        match (self.frame(), other.frame()) {
            (Some(a), Some(b)) if self.beside(other) => (b.left - a.right).max(a.left - b.right) < 4.0 * self.size,
            _ => false,
        }
    }

    /// The white between this line and the next below it, in multiples of this line's size; `None` when the next is not below (it is
    /// in another column or on another page), none when it is beside it. Lines without a frame are taken to follow each other closely.
    pub(crate) fn white_to(&self, next: &Line) -> Option<f32> {
        match (self.spot, next.spot) {
            _ if self.beside(next) => Some(0.0),
            (Spot::Page(page, a), Spot::Page(next_page, b)) => {
                (page == next_page && b.baseline > a.baseline).then(|| (b.top - a.bottom) / self.size.max(1.0))
            }
            _ => Some(0.0),
        }
    }
}

/// The place of a value that stands on these lines: boxes on the page of the first, or its paragraph.
pub(crate) fn place<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Option<Place> {
    let mut lines = lines.into_iter();
    let first = lines.next()?;
    match first.spot {
        Spot::Paragraph(number) => Some(Place::Paragraph(number)),
        Spot::Slide(number) => Some(Place::Slide(number)),
        Spot::Page(page, frame) => {
            let mut boxes = vec![frame.thousandths()];
            boxes.extend(lines.filter_map(|line| match line.spot {
                Spot::Page(other, frame) if other == page => Some(frame.thousandths()),
                _ => None,
            }));
            Some(Place::Page { page, boxes })
        }
    }
}

/// Put lines together to running text: Chinese closes up, a word divided at the line's end becomes whole.
pub(crate) fn join<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut whole = String::new();
    for text in texts {
        let text = text.trim();
        let (Some(last), Some(first)) = (whole.chars().next_back(), text.chars().next()) else {
            whole.push_str(text);
            continue;
        };
        let before = whole.chars().rev().nth(1);
        if matches!(last, '-' | '\u{2010}' | '\u{ad}')
            && first.is_lowercase()
            && before.is_some_and(char::is_alphabetic)
        {
            whole.pop();
        } else if !(matches!(last, '-' | '\u{2010}') && first.is_alphanumeric() || is_wide(last) && is_wide(first)) {
            whole.push(' ');
        }
        whole.push_str(text);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_running_text() {
        assert_eq!(join(["a meta-", "data record"]), "a metadata record");
        assert_eq!(join(["the PDF-", "A format"]), "the PDF-A format");
        assert_eq!(join(["基于规则的", "元数据抽取"]), "基于规则的元数据抽取");
        assert_eq!(join(["采用 XML", "描述"]), "采用 XML 描述");
        assert_eq!(join(["", "one", "", "two"]), "one two");
    }
}
