//! The notation of byte sequences: hexadecimal bytes, `'text'`, `??`, `*`, `{n}`, `{n-m}`, `{n-*}`, `[a:b]`, `[!a]`, `[&m]`, `(a|b)`. DROID's own XML has
//! most of these resolved into fragments already; container signatures, and signatures as people write them, use them all.

use super::model::{Element, Fragment, Group, Part, set_of};

/// The widest gap that is written out as that many places, where a gap stands inside an alternative.
const WRITTEN_OUT: u32 = 4096;

/// The deepest nesting of alternatives.
const DEEPEST: usize = 16;

/// What may stand in a sequence.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Run(Vec<Element>),
    Choice(Vec<Vec<Element>>),
    Gap { min: u32, max: Option<u32> },
}

/// The parts of a sequence; their distances are what gaps before them say.
pub(crate) fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parser = Parser { rest: text };
    let items = parser.items(0)?;
    if !parser.rest.is_empty() {
        return Err(format!("{:?} has no meaning here", parser.rest.chars().next().unwrap_or_default()));
    }
    let mut parts = Vec::new();
    let mut waiting: Vec<Item> = Vec::new();
    // The distance to the next part.
    let mut before = (0, Some(0));
    for item in items {
        match item {
            Item::Gap { min, max: None } => {
                if waiting.is_empty() {
                    before = (min.saturating_add(before.0), None);
                } else {
                    // A gap of some size next to one of any size only makes that one longer.
                    let trailing = trailing_gap(&mut waiting);
                    parts.push(part(std::mem::take(&mut waiting), before)?);
                    before = (min.saturating_add(trailing.0), None);
                }
            }
            Item::Gap { min, max: Some(max) } if waiting.is_empty() => {
                before = (min.saturating_add(before.0), before.1.map(|most: u32| most.saturating_add(max)));
            }
            item => waiting.push(item),
        }
    }
    // A gap at the end says nothing about the bytes.
    trailing_gap(&mut waiting);
    if !waiting.is_empty() {
        parts.push(part(waiting, before)?);
    }
    if parts.is_empty() { Err("it holds no bytes to look for".to_owned()) } else { Ok(parts) }
}

fn trailing_gap(items: &mut Vec<Item>) -> (u32, u32) {
    let mut sum = (0u32, 0u32);
    while let Some(Item::Gap { min, max }) = items.last() {
        sum = (sum.0.saturating_add(*min), sum.1.saturating_add(max.unwrap_or(*min)));
        items.pop();
    }
    sum
}

/// One part: the run with the most exact bytes is its anchor, the rest lies left and right of it.
fn part(items: Vec<Item>, (min, max): (u32, Option<u32>)) -> Result<Part, String> {
    let weight = |item: &Item| match item {
        Item::Run(elements) => 1 + Fragment::new(0, 0, elements.clone()).literal.1.len(),
        Item::Choice(_) => 1,
        Item::Gap { .. } => 0,
    };
    let mut best = 0;
    for (index, item) in items.iter().enumerate() {
        if weight(item) > weight(&items[best]) {
            best = index;
        }
    }
    let mut left_items: Vec<Item> = items[..best].to_vec();
    left_items.reverse();
    let anchor = group(&items[best], 0, 0).ok_or("it holds no bytes to look for")?;
    Ok(Part { min, max, anchor, left: groups(left_items), right: groups(items[best + 1..].to_vec()) })
}

fn groups(items: Vec<Item>) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut gap = (0u32, 0u32);
    for item in items {
        match &item {
            Item::Gap { min, max } => {
                gap = (gap.0.saturating_add(*min), gap.1.saturating_add(max.unwrap_or(*min)));
            }
            _ => {
                groups.extend(group(&item, gap.0, gap.1));
                gap = (0, 0);
            }
        }
    }
    groups
}

fn group(item: &Item, min: u32, max: u32) -> Option<Group> {
    match item {
        Item::Run(elements) => Some(vec![Fragment::new(min, max, elements.clone())]),
        Item::Choice(options) => {
            Some(options.iter().map(|elements| Fragment::new(min, max, elements.clone())).collect())
        }
        Item::Gap { .. } => None,
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        self.space();
        if self.take() == Some(wanted) { Ok(()) } else { Err(format!("{wanted:?} is missing")) }
    }

    /// Items up to the end, or to what ends an alternative.
    fn items(&mut self, depth: usize) -> Result<Vec<Item>, String> {
        if depth > DEEPEST {
            return Err(format!("its brackets are nested more than {DEEPEST} deep"));
        }
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.space();
            let Some(c) = self.peek() else { return Ok(items) };
            match c {
                ')' | '|' => return Ok(items),
                '*' => {
                    self.take();
                    items.push(Item::Gap { min: 0, max: None });
                }
                '{' => items.push(self.gap()?),
                '(' => {
                    let options = self.choice(depth)?;
                    items.push(Item::Choice(options));
                }
                '?' => {
                    let marks = self.rest.len() - self.rest.trim_start_matches('?').len();
                    if marks % 2 == 1 {
                        return Err("a single ? stands for no byte; write ??".to_owned());
                    }
                    self.rest = &self.rest[marks..];
                    let places = u32::try_from(marks / 2).map_err(|_| "too many ??")?;
                    items.push(Item::Gap { min: places, max: Some(places) });
                }
                _ => {
                    let elements = self.elements()?;
                    match items.last_mut() {
                        Some(Item::Run(run)) => run.extend(elements),
                        _ => items.push(Item::Run(elements)),
                    }
                }
            }
        }
    }

    /// `{n}`, `{n-m}`, `{n-*}`.
    fn gap(&mut self) -> Result<Item, String> {
        self.take();
        let (inside, after) = self.rest.split_once('}').ok_or("} is missing")?;
        self.rest = after;
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| format!("{{{inside}}} is no gap; write {{n}}, {{n-m}} or {{n-*}}"))
        };
        let (min, max) = match inside.split_once('-') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((min, max)) if max.trim() == "*" => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        match max {
            Some(max) if max < min => Err(format!("{{{inside}}} ends before it begins")),
            max => Ok(Item::Gap { min, max }),
        }
    }

    /// `(a|b)`, each alternative written out as places.
    fn choice(&mut self, depth: usize) -> Result<Vec<Vec<Element>>, String> {
        self.take();
        let mut options = Vec::new();
        loop {
            let mut option = vec![Vec::new()];
            for item in self.items(depth + 1)? {
                let additions: Vec<Vec<Element>> = match item {
                    Item::Run(elements) => vec![elements],
                    Item::Choice(inner) => inner,
                    Item::Gap { min, max: Some(max) } if max == min && max <= WRITTEN_OUT => {
                        vec![vec![Element::Set(Box::new([u64::MAX; 4])); max as usize]]
                    }
                    Item::Gap { .. } => return Err("a gap of unknown size stands inside an alternative".to_owned()),
                };
                if option.len() * additions.len() > 256 {
                    return Err("its alternatives are too many".to_owned());
                }
                option = option
                    .iter()
                    .flat_map(|start| {
                        additions.iter().map(move |addition| [start.as_slice(), addition.as_slice()].concat())
                    })
                    .collect();
            }
            options.extend(option);
            self.space();
            match self.take() {
                Some('|') => {}
                Some(')') => break,
                _ => return Err("a ) is missing".to_owned()),
            }
        }
        if options.iter().any(Vec::is_empty) || options.is_empty() {
            return Err("an alternative is empty".to_owned());
        }
        Ok(options)
    }

    /// One or more places: bytes, text, a set.
    fn elements(&mut self) -> Result<Vec<Element>, String> {
        match self.peek() {
            Some('\'') => Ok(self.quoted('\'')?.into_iter().map(Element::Byte).collect()),
            // Letters in either case.
            Some('`') => Ok(self.quoted('`')?.into_iter().map(either_case).collect()),
            Some('[') => self.set(),
            Some('.') => {
                self.take();
                Ok(vec![Element::Set(Box::new([u64::MAX; 4]))])
            }
            Some('&' | '~') => {
                let test = self.mask()?;
                Ok(vec![Element::Set(Box::new(set_of(test)))])
            }
            _ => Ok(self.bytes()?.into_iter().map(Element::Byte).collect()),
        }
    }

    fn quoted(&mut self, mark: char) -> Result<Vec<u8>, String> {
        self.take();
        let (inside, after) =
            self.rest.split_once(mark).ok_or_else(|| format!("the text's closing {mark} is missing"))?;
        self.rest = after;
        Ok(inside.as_bytes().to_vec())
    }

    /// Pairs of hexadecimal digits without space between them.
    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(self.rest.len());
        let digits = &self.rest[..end];
        if digits.is_empty() {
            return Err(format!("{:?} has no meaning here", self.peek().unwrap_or_default()));
        }
        if digits.len() % 2 == 1 {
            return Err(format!("{digits:?} has half a byte too few"));
        }
        let bytes = (0..digits.len()).step_by(2).filter_map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
        let bytes = bytes.collect();
        self.rest = &self.rest[end..];
        Ok(bytes)
    }

    /// `&m`: all bits of the mask are set; `~m`: any of them.
    fn mask(&mut self) -> Result<impl Fn(u8) -> bool + use<>, String> {
        let all = self.take() == Some('&');
        let bytes = self.bytes()?;
        let &[mask] = bytes.as_slice() else { return Err("a mask is one byte".to_owned()) };
        Ok(move |byte: u8| if all { byte & mask == mask } else { byte & mask != 0 })
    }

    /// `[a:b]`, `[a-b]`, `[a b c]`, `[!…]`, `[&m]`.
    fn set(&mut self) -> Result<Vec<Element>, String> {
        self.take();
        self.space();
        let inside = !matches!(self.peek(), Some('!' | '^'));
        if !inside {
            self.take();
        }
        let mut ranges: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut masks = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(']') => break,
                Some('&' | '~') => masks.push(self.mask()?),
                Some(_) => {
                    let low = self.value()?;
                    self.space();
                    let high = if matches!(self.peek(), Some(':' | '-')) {
                        self.take();
                        self.space();
                        self.value()?
                    } else {
                        low.clone()
                    };
                    if low.len() != high.len() || low > high {
                        return Err("the bounds of a range do not fit each other".to_owned());
                    }
                    ranges.push((low, high));
                }
                None => return Err("] is missing".to_owned()),
            }
        }
        self.expect(']')?;
        if let [(low, high)] = ranges.as_slice()
            && low.len() > 1
            && masks.is_empty()
        {
            return Ok(vec![Element::Span { low: low.clone(), high: high.clone(), inside }]);
        }
        if ranges.is_empty() && masks.is_empty() || ranges.iter().any(|(low, _)| low.len() != 1) {
            return Err("a set is made of single bytes".to_owned());
        }
        let test = |byte: u8| {
            ranges.iter().any(|(low, high)| (low[0]..=high[0]).contains(&byte)) || masks.iter().any(|mask| mask(byte))
        };
        Ok(vec![Element::Set(Box::new(set_of(|byte| test(byte) == inside)))])
    }

    fn value(&mut self) -> Result<Vec<u8>, String> {
        match self.peek() {
            Some('\'') => self
                .quoted('\'')
                .and_then(|text| if text.is_empty() { Err("a text in a set is empty".to_owned()) } else { Ok(text) }),
            _ => self.bytes(),
        }
    }
}

fn either_case(byte: u8) -> Element {
    if byte.is_ascii_alphabetic() {
        Element::Set(Box::new(set_of(|other| other.eq_ignore_ascii_case(&byte))))
    } else {
        Element::Byte(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Part {
        let mut parts = parse(text).unwrap();
        assert_eq!(parts.len(), 1, "{text}");
        parts.remove(0)
    }

    #[test]
    fn the_longest_run_of_bytes_is_the_anchor() {
        let part = one("41 {2-4} 424344 ?? 'x'");
        assert_eq!(part.anchor[0].literal.1, b"BCD");
        assert_eq!((part.left[0][0].min, part.left[0][0].max), (2, 4));
        assert_eq!((part.right[0][0].min, part.right[0][0].max, part.right[0][0].width), (1, 1, 1));
        assert_eq!(one("{6}41").max, Some(6));
        assert_eq!(one("{6-9}41").min, 6);
    }

    #[test]
    fn gaps_of_any_size_divide_a_sequence() {
        let parts = parse("4142*{3}4344{2-*}45").unwrap();
        let distances: Vec<_> = parts.iter().map(|part| (part.min, part.max)).collect();
        assert_eq!(distances, [(0, Some(0)), (3, None), (2, None)]);
        assert_eq!(parse("*41").unwrap()[0].max, None);
    }

    #[test]
    fn sets_ranges_and_masks() {
        let fits = |text: &str, bytes: &[u8]| one(text).anchor[0].fits(bytes);
        assert!(fits("[30:39]", b"5") && !fits("[30:39]", b"a"));
        assert!(fits("[!00]", b"5") && !fits("[!00]", b"\0"));
        assert!(fits("[22 27]", b"'") && fits("[22 27]", b"\"") && !fits("[22 27]", b"x"));
        assert!(fits("['6'-'7']", b"7"));
        assert!(fits("[&01]", b"\x03") && !fits("[&01]", b"\x02") && fits("[!&01]", b"\x02"));
        assert!(fits("[~06]", b"\x02") && !fits("[~06]", b"\x01"));
        assert!(fits("[0000:1000]", b"\x0f\xff") && !fits("[0000:1000]", b"\x10\x01"));
        assert!(fits("[!0000]", b"\0\x01") && !fits("[!0000]", b"\0\0"));
        assert!(fits("`Html`", b"hTML"));
    }

    #[test]
    fn alternatives_may_hold_alternatives() {
        let part = one("(41|4243|'x'(31|32)??)44");
        assert_eq!(part.anchor[0].literal.1, b"D");
        assert_eq!(part.left[0].iter().map(|one| one.width).collect::<Vec<_>>(), [1, 2, 3, 3]);
    }

    #[test]
    fn nonsense_is_said_plainly() {
        for text in [
            "",
            "*",
            "4",
            "4G",
            "[",
            "[30",
            "[30:",
            "(41",
            "(41|",
            "()",
            "{3",
            "{a}",
            "{4-2}41",
            "'x",
            "?",
            "[3030 31]",
            "(41{1-2})",
            "]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
    }
}
