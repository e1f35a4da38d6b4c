//! Dates as they are searched: the days a date may mean. A record's date is read from whatever was written; a query's
//! must be one this can be sure of.

/// The first and the last day something may have happened, each as the number YYYYMMDD: they compare as the days do,
/// and no calendar is needed (the 31st stands for the end of every month).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Days {
    /// Any day at all.
    pub(super) const ALL: Days = Days { first: 0, last: 99_991_231 };

    fn of(year: i64, month: Option<i64>, day: Option<i64>) -> Option<Days> {
        if !month.is_none_or(|month| (1..=12).contains(&month)) || !day.is_none_or(|day| (1..=31).contains(&day)) {
            return None;
        }
        let at = |month: i64, day: i64| year * 10_000 + month * 100 + day;
        let first = at(month.unwrap_or(1), day.unwrap_or(1));
        let last = at(month.unwrap_or(12), day.unwrap_or(31));
        Some(Days { first, last })
    }

    /// Exactly a year, month or day: `2005`, `2005-03`, `2005-3-2`, `2005/03/02`, `2005年3月2日`, `20050302`.
    pub(super) fn exact(text: &str) -> Option<Days> {
        let (days, rest) = Days::leading(text.trim())?;
        matches!(rest, "" | "日" | "月" | "年").then_some(days)
    }

    /// A date at the beginning of a text, and what follows it.
    fn leading(text: &str) -> Option<(Days, &str)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 8 {
            let part = |range: std::ops::Range<usize>| text[range].parse().ok();
            let days = Days::of(part(0..4)?, Some(part(4..6)?), Some(part(6..8)?))?;
            return Some((days, &text[8..]));
        }
        if digits != 4 {
            return None;
        }
        let year = text[..4].parse().ok()?;
        let mut rest = &text[4..];
        let mut parts = [None, None];
        for part in &mut parts {
            let Some(after) = rest.strip_prefix(['-', '/', '.', '年', '月']) else { break };
            let after = after.trim_start();
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=2).contains(&digits) {
                break;
            }
            *part = after[..digits].parse().ok();
            rest = &after[digits..];
        }
        match Days::of(year, parts[0], parts[1]) {
            Some(days) => Some((days, rest)),
            None => Some((Days::of(year, None, None)?, &text[4..])),
        }
    }

    /// The date in a record's text, however it is dressed: `c2005`, `March 2005`, `2003/2005`, `2005-03-02T10:00:00Z`.
    pub(super) fn found_in(text: &str) -> Option<Days> {
        let text = super::fold::folded(text);
        let mut after_digit = false;
        for (at, c) in text.char_indices() {
            let digit = c.is_ascii_digit();
            if digit
                && !after_digit
                && let Some((days, rest)) = Days::leading(&text[at..])
            {
                // `2003/2005`: an interval is all the days from its beginning to its end.
                let until = rest.trim_start_matches(['/', '-', '.', ' ', '–', '—', '~']);
                let end = if until.len() < rest.len() { Days::leading(until) } else { None };
                return match end {
                    Some((end, _)) if end.first > days.last => Some(Days { first: days.first, last: end.last }),
                    _ => Some(days),
                };
            }
            after_digit = digit;
        }
        None
    }

    /// The year it begins in.
    pub(super) fn year(self) -> i64 {
        self.first / 10_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_in_what_people_write() {
        for (text, first, last) in [
            ("2005", 20050101, 20051231),
            ("2005-03", 20050301, 20050331),
            ("2005-3-2", 20050302, 20050302),
            ("2005-03-02T10:00:00Z", 20050302, 20050302),
            ("20050302", 20050302, 20050302),
            ("２００５年３月", 20050301, 20050331),
            ("2005年3月2日", 20050302, 20050302),
            ("c2005.", 20050101, 20051231),
            ("March 2005", 20050101, 20051231),
            ("2003/2005", 20030101, 20051231),
            ("2003-2005", 20030101, 20051231),
            ("2005-99", 20050101, 20051231),
        ] {
            assert_eq!(Days::found_in(text), Some(Days { first, last }), "{text}");
        }
        for text in ["", "no date", "12", "123456", "千九百"] {
            assert_eq!(Days::found_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_query_must_mean_one_date() {
        assert!(Days::exact("2005-03").is_some());
        for text in ["abc", "2005-", "2005-03-02T10", "05", "2005-13-01x", ""] {
            assert_eq!(Days::exact(text), None, "{text}");
        }
    }
}
