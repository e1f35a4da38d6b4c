//! Values of office properties made fit to keep: clean text, dates one way, and how far each kind is believed.
//!
//! What a native name means is said in the one vocabulary, `crate::property`.

use zhulu_record::Element;

use crate::property;

/// How sure a property is where the page says nothing. A person seldom fills them in: the title is often that of the
/// document this one was copied from, the author who owned the computer.
const SAID: f64 = 0.5;

/// Categories and comments come with the template more often than from the author.
const INHERITED: f64 = 0.3;

/// A publisher, or whoever writes a block of properties by hand, does so with care.
const CAREFUL: f64 = 0.9;

/// Dates are the program's own.
const MACHINE: f64 = 0.9;

/// The element a native property means, and how sure that is.
pub(crate) fn meaning(native: &str) -> Option<(Element, f64)> {
    let meaning = property::property(native)?;
    let element: Element = meaning.element?.parse().ok()?;
    let careful = native.starts_with("EPUB:") || native.starts_with("Markdown:");
    let sure = match meaning.name {
        "created" | "modified" => MACHINE,
        _ if careful => CAREFUL,
        "category" | "description" | "company" | "language" => INHERITED,
        _ => SAID,
    };
    Some((element, sure))
}

/// A longer property is cut: it is no title and no name, and would only fill the catalogue.
const MAX_CHARS: usize = 2000;

/// A property's value without control characters, the spaces around it, and what is too long.
pub(crate) fn clean(text: &str) -> String {
    let kept = text.chars().map(|c| if matches!(c, '\r' | '\n' | '\t') { ' ' } else { c });
    let kept: String = kept.filter(|c| !c.is_control() && *c != '\u{fffe}').take(MAX_CHARS).collect();
    kept.trim().to_owned()
}

/// Seconds since 1970 as ISO 8601; empty for a time no calendar has.
pub(crate) fn instant(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Windows' count of tenths of microseconds since 1601, if it is a day since there are such files.
pub(crate) fn file_time(ticks: u64) -> Option<String> {
    let seconds = i64::try_from(ticks / 10_000_000).ok()? - 11_644_473_600;
    // Programs without a clock write 0 or 1601; nothing was written before 1980 or comes from after 2200.
    (315_532_800..7_258_118_400).contains(&seconds).then(|| instant(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_time() {
        assert_eq!(file_time(116_444_736_000_000_000), None, "the epoch is nobody's date");
        assert_eq!(file_time(125_911_584_000_000_000).as_deref(), Some("2000-01-01T00:00:00Z"));
        assert_eq!(instant(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(instant(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(file_time(0), None);
        assert_eq!(file_time(u64::MAX), None);
    }

    #[test]
    fn values_are_made_fit() {
        assert_eq!(clean(" 著录\r\n规则\0 "), "著录  规则");
    }
}
