//! Tables: columns that fit the window, where a Chinese character fills two places. Through a pipe a table is plain lines of
//! fields with tabs between them, whole, for other programs.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::Output;

/// Between two columns.
const GAP: usize = 2;

/// The least width a column is squeezed to.
const LEAST: usize = 8;

/// A table being made.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Columns whose text runs over several lines instead of being cut.
    wrapped: Vec<usize>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Table { headings: headings.to_vec(), rows: Vec::new(), wrapped: Vec::new() }
    }

    /// The same, with this column's text shown whole, over several lines where it must be.
    pub(crate) fn wrapping(mut self, column: usize) -> Self {
        self.wrapped.push(column);
        self
    }

    /// Adds a row; what came from outside loses what a terminal would obey.
    pub(crate) fn row<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) {
        self.rows.push(fields.into_iter().map(|field| plain(field.as_ref())).collect());
    }

    /// Prints it.
    pub(crate) fn print(&self, output: &mut Output) -> io::Result<()> {
        let Some(window) = output.width else {
            for row in &self.rows {
                output.line(&row.join("\t"))?;
            }
            return Ok(());
        };
        let widths = self.widths(window);
        let headings: Vec<String> = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        for line in self.lines(&headings, &widths) {
            let line = output.faint(&line);
            output.line(&line)?;
        }
        for row in &self.rows {
            for line in self.lines(row, &widths) {
                output.line(&line)?;
            }
        }
        Ok(())
    }

    /// Natural widths, and where they do not fit, the widest columns squeezed.
    fn widths(&self, window: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.width()).collect();
        for row in &self.rows {
            for (width, field) in widths.iter_mut().zip(row) {
                *width = (*width).max(field.width());
            }
        }
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > window {
            let over = widths.iter().sum::<usize>() + gaps - window;
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= LEAST {
                break;
            }
            // Half the surplus at a time, so that two wide columns share the loss.
            *widest = widest.saturating_sub(over.div_ceil(2)).max(LEAST);
        }
        widths
    }

    fn lines(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(
                |(column, (field, width))| {
                    if self.wrapped.contains(&column) { wrap(field, *width) } else { vec![fit(field, *width)] }
                },
            )
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|line| {
                let mut text = String::new();
                for (cell, width) in cells.iter().zip(widths) {
                    let piece = cell.get(line).map_or("", String::as_str);
                    text.push_str(piece);
                    text.extend(std::iter::repeat_n(' ', width.saturating_sub(piece.width()) + GAP));
                }
                text.trim_end().to_owned()
            })
            .collect()
    }
}

/// The text on one line and without characters that a terminal would obey instead of showing.
pub(crate) fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// As much of the text as fits, with `…` where something is cut.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width.saturating_sub(1) {
            break;
        }
        taken.push(c);
    }
    taken.push('…');
    taken
}

/// The text in lines of at most `width` places, broken at spaces, and anywhere in Chinese.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // Where the line could be broken, in bytes.
    let mut chance = None;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > width && !line.is_empty() {
            let at = chance.filter(|at| *at > 0).unwrap_or(line.len());
            let rest = line[at..].trim_start().to_owned();
            line.truncate(at);
            lines.push(line.trim_end().to_owned());
            used = rest.width();
            line = rest;
            chance = None;
        }
        if line.is_empty() && c == ' ' {
            continue;
        }
        if wide > 1 {
            chance = Some(line.len());
        }
        line.push(c);
        used += wide;
        if wide > 1 || c == ' ' {
            chance = Some(line.len());
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_fills_two_places() {
        assert_eq!(fit("元数据自动抽取", 14), "元数据自动抽取");
        assert_eq!(fit("元数据自动抽取", 13), "元数据自动抽…");
        assert_eq!(fit("元数据自动抽取", 12), "元数据自动…", "half a character is no character");
        assert_eq!(fit("abc", 2), "a…");
    }

    #[test]
    fn lines_break_at_spaces_and_anywhere_in_chinese() {
        assert_eq!(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrap("元数据自动抽取", 6), ["元数据", "自动抽", "取"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
        for width in 1..20 {
            for line in wrap("zhulu 著录 is 逐鹿, to contend for the realm", width) {
                assert!(line.width() <= width.max(2), "{line:?} in {width}");
            }
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_printed() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}"), "a\u{fffd}[31mb c\u{fffd}");
    }

    #[test]
    fn columns_fit_the_window() {
        let mut table = Table::new(&["id", "title"]);
        table.row(["a", &"长".repeat(60)]);
        table.row(["b", "short"]);
        let widths = table.widths(40);
        assert!(widths.iter().sum::<usize>() + GAP <= 40, "{widths:?}");
    }
}
