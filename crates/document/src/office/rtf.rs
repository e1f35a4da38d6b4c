//! RTF: control words and text in whatever code page the font says, and the `\info` group.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::{Composer, Extent, Reading, Role, Run, ole};

/// How deep groups may nest; deeper ones are read as if they were on that level.
const MAX_DEPTH: usize = 2000;

/// How many bytes are read; pictures, written as digits, make files large.
const MAX_BYTES: usize = 128 << 20;

/// How many fonts are remembered.
const MAX_FONTS: usize = 4096;

/// Whether these bytes are RTF.
pub(super) fn is_rtf(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    bytes[start..].starts_with(b"{\\rtf")
}

/// What text is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Body,
    /// A property of this name.
    Info(String),
    Fonts,
    Styles,
    /// Pictures, headers and what is not known.
    Nothing,
}

/// What a group inherits from the one around it.
#[derive(Debug, Clone)]
struct State {
    target: Target,
    size: f32,
    bold: bool,
    raised: bool,
    hidden: bool,
    encoding: &'static Encoding,
    /// How many characters stand for a Unicode one, for programs that know none.
    fallback: usize,
    style: i32,
    /// Inside the half of a text that is for programs without Unicode; the other half follows.
    legacy: bool,
    /// Whether what follows is about East Asian letters, which LibreOffice sizes by words of their own.
    east: bool,
}

/// The groups that hold properties.
const INFO: &[&str] = &[
    "title",
    "subject",
    "author",
    "manager",
    "company",
    "operator",
    "category",
    "keywords",
    "comment",
    "doccomm",
    "hlinkbase",
];
const TIMES: &[&str] = &["creatim", "revtim", "printim", "buptim"];
const COUNTS: &[&str] = &["nofpages", "nofwords", "nofchars", "nofcharsws", "version", "edmins", "vern"];

/// Groups whose text is no text of the document.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "pict", "object", "objdata", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "colortbl",
    "footnote", "annotation", "fldinst", "listtable", "listoverridetable", "themedata", "datastore", "xmlnstbl", "rsidtbl", "generator",
    "latentstyles", "filetbl", "revtbl", "listtext", "pntext", "nonshppict", "xe", "tc", "bkmkstart", "bkmkend",
];

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    state: State,
    stack: Vec<State>,
    composer: Composer,
    reading: Reading,
    runs: Vec<Run>,
    /// Bytes of text not yet decoded: a Chinese character is two of them.
    pending: Vec<u8>,
    page: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    styles: HashMap<i32, String>,
    value: String,
    time: [u32; 6],
    skip: usize,
    surrogate: Option<u16>,
    too_deep: usize,
}

/// Read RTF.
pub(super) fn read(bytes: &[u8]) -> Reading {
    let state = State {
        target: Target::Body,
        size: 12.0,
        bold: false,
        raised: false,
        hidden: false,
        encoding: WINDOWS_1252,
        fallback: 1,
        style: 0,
        legacy: false,
        east: false,
    };
    let mut reader = Reader {
        bytes: &bytes[..bytes.len().min(MAX_BYTES)],
        at: 0,
        state,
        stack: Vec::new(),
        composer: Composer::default(),
        reading: Reading::default(),
        runs: Vec::new(),
        pending: Vec::new(),
        page: WINDOWS_1252,
        fonts: HashMap::new(),
        font: 0,
        styles: HashMap::new(),
        value: String::new(),
        time: [0; 6],
        skip: 0,
        surrogate: None,
        too_deep: 0,
    };
    if bytes.len() > MAX_BYTES {
        reader.reading.warn("too-large", format!("Only the first {} MB were read.", MAX_BYTES >> 20));
    }
    reader.run();
    reader.finish()
}

impl Reader<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    if self.stack.len() < MAX_DEPTH {
                        self.stack.push(self.state.clone());
                    } else {
                        self.too_deep += 1;
                    }
                }
                b'}' => {
                    self.flush();
                    self.close();
                }
                b'\\' => self.control(),
                b'\r' | b'\n' => {}
                byte => self.byte(byte),
            }
            if self.composer.is_full() {
                break;
            }
        }
        self.flush();
    }

    fn close(&mut self) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(outer) = self.stack.pop() else { return };
        let inner = std::mem::replace(&mut self.state, outer);
        if inner.target != self.state.target {
            match inner.target {
                Target::Info(name) if TIMES.contains(&name.as_str()) => {
                    let [year, month, day, hour, minute, second] = std::mem::take(&mut self.time);
                    if (1980..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day) {
                        // RTF knows no time zone.
                        let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
                        self.reading.property(format!("RTF:{name}"), &time);
                    }
                }
                Target::Info(name) if !name.is_empty() => {
                    let value = std::mem::take(&mut self.value);
                    self.reading.property(format!("RTF:{name}"), &value);
                }
                _ => {}
            }
        }
    }

    fn control(&mut self) {
        let Some(first) = self.bytes.get(self.at).copied() else { return };
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            match first {
                b'\'' => {
                    let digits = self.bytes.get(self.at..self.at + 2).and_then(|two| std::str::from_utf8(two).ok());
                    if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                        self.at += 2;
                        self.byte(byte);
                    }
                }
                b'~' => self.byte(b' '),
                b'_' => self.byte(b'-'),
                b'\r' | b'\n' => self.word("par", None),
                b'*' => {
                    // A group that programs may leave out when they do not know it; the known ones are named below.
                    self.flush();
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    if !rest.starts_with(b"\\shpinst")
                        && !rest.starts_with(b"\\shptxt")
                        && self.state.target == Target::Body
                    {
                        self.state.target = Target::Nothing;
                    }
                }
                b'\\' | b'{' | b'}' => self.byte(first),
                _ => {}
            }
            return;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        let mut end = length;
        let negative = rest.get(end) == Some(&b'-');
        end += usize::from(negative);
        let digits = rest[end..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[end..end + digits]).ok().and_then(|digits| digits.parse::<i64>().ok());
        let number = number.map(|number| if negative { -number } else { number } as i32);
        end += digits;
        end += usize::from(rest.get(end) == Some(&b' '));
        self.at += end;
        self.word(&name, number);
    }

    fn word(&mut self, name: &str, number: Option<i32>) {
        if name == "u" {
            self.flush_bytes();
            self.unicode(number.unwrap_or(0));
            return;
        }
        self.flush();
        let in_info = matches!(self.state.target, Target::Info(_));
        if in_info && (TIMES.contains(&name) || INFO.contains(&name)) {
            self.state.target = Target::Info(name.to_owned());
            self.value.clear();
            return;
        }
        if in_info && COUNTS.contains(&name) {
            self.reading.property(format!("RTF:{name}"), &number.unwrap_or(0).to_string());
            return;
        }
        if LEFT_OUT.contains(&name) {
            self.state.target = Target::Nothing;
            return;
        }
        let on = number != Some(0);
        match name {
            "upr" => self.state.legacy = true,
            "ud" => {
                self.state.legacy = false;
                self.state.target = self.stack.last().map_or(Target::Body, |outer| outer.target.clone());
            }
            "info" => self.state.target = Target::Info(String::new()),
            "fonttbl" => self.state.target = Target::Fonts,
            "stylesheet" => self.state.target = Target::Styles,
            "ansicpg" => {
                self.page = number.and_then(|page| ole::code_page(page as u32)).unwrap_or(WINDOWS_1252);
                self.state.encoding = self.page;
            }
            "uc" => self.state.fallback = number.unwrap_or(1).clamp(0, 16) as usize,
            "bin" => self.at = self.at.saturating_add(number.unwrap_or(0).max(0) as usize),
            "f" if self.state.target == Target::Fonts => self.font = number.unwrap_or(0),
            "fcharset" if self.state.target == Target::Fonts => {
                let encoding = charset(number.unwrap_or(0)).unwrap_or(self.page);
                if self.fonts.len() < MAX_FONTS {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "f" => {
                let known = number.and_then(|number| self.fonts.get(&number));
                self.state.encoding = known.copied().unwrap_or(self.page);
            }
            "yr" | "mo" | "dy" | "hr" | "min" | "sec" => {
                let index = ["yr", "mo", "dy", "hr", "min", "sec"].iter().position(|part| *part == name).unwrap_or(0);
                self.time[index] = number.unwrap_or(0).max(0) as u32;
            }
            "dbch" => self.state.east = true,
            "loch" | "hich" | "rtlch" | "ltrch" => self.state.east = false,
            "s" => self.state.style = number.unwrap_or(0),
            "afs" | "ab" if !self.state.east => {}
            "fs" | "afs" => {
                self.state.size = number.filter(|half| (2..=800).contains(half)).map_or(12.0, |half| half as f32 / 2.0)
            }
            "b" | "ab" => self.state.bold = on,
            "super" => self.state.raised = on,
            "nosupersub" | "sub" => self.state.raised = false,
            "v" => self.state.hidden = on,
            "plain" => {
                (self.state.size, self.state.bold, self.state.raised, self.state.hidden) = (12.0, false, false, false);
            }
            "pard" => self.state.style = 0,
            "par" | "row" | "nestrow" => self.paragraph(),
            "cell" | "nestcell" => self.text("\t"),
            "sect" | "page" => {
                self.paragraph();
                if self.state.target == Target::Body {
                    self.composer.page_break();
                }
            }
            "line" => self.text("\n"),
            "tab" => self.text("\t"),
            "emdash" => self.text("—"),
            "endash" => self.text("–"),
            "lquote" => self.text("‘"),
            "rquote" => self.text("’"),
            "ldblquote" => self.text("“"),
            "rdblquote" => self.text("”"),
            "bullet" => self.text("•"),
            "emspace" | "enspace" => self.text(" "),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.pending.push(byte);
        if self.pending.len() > 64 << 10 {
            self.flush_bytes();
        }
    }

    fn unicode(&mut self, number: i32) {
        let unit = number as u16;
        self.skip = self.state.fallback;
        match (self.surrogate.take(), unit) {
            (_, 0xd800..=0xdbff) => self.surrogate = Some(unit),
            (Some(high), 0xdc00..=0xdfff) => {
                let text = String::from_utf16_lossy(&[high, unit]);
                self.text(&text);
            }
            _ => {
                if let Some(c) = char::from_u32(u32::from(unit)).filter(|c| *c != '\0') {
                    self.text(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Whatever ends a text also ends what stands in for a Unicode character.
    fn flush(&mut self) {
        self.skip = 0;
        self.flush_bytes();
    }

    fn flush_bytes(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        let text = ole::text(&bytes, self.state.encoding);
        self.text(&text);
    }

    fn text(&mut self, text: &str) {
        if self.state.legacy {
            return;
        }
        match &self.state.target {
            Target::Body if !self.state.hidden => {
                let State { size, bold, raised, .. } = self.state;
                match self.runs.last_mut() {
                    Some(last) if last.size == size && last.bold == bold && last.raised == raised => {
                        last.text.push_str(text)
                    }
                    _ => self.runs.push(Run { text: text.to_owned(), size, bold, raised }),
                }
            }
            Target::Info(name) if !name.is_empty() && self.value.len() < 8000 => self.value.push_str(text),
            Target::Styles if self.styles.len() < MAX_FONTS => {
                self.styles.insert(self.state.style, text.trim_end_matches(';').trim().to_lowercase());
            }
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        if self.state.target != Target::Body {
            return;
        }
        let runs = std::mem::take(&mut self.runs);
        let style = self.styles.get(&self.state.style).filter(|_| self.state.style != 0);
        let role = match style.map(String::as_str) {
            Some("title") => Role::Title,
            Some(name) => match name.strip_prefix("heading ").and_then(|level| level.parse().ok()) {
                Some(level @ 1..=9) => Role::Heading(level),
                _ => Role::Body,
            },
            None => Role::Body,
        };
        self.composer.paragraph(&runs, role);
    }

    fn finish(mut self) -> Reading {
        // The last paragraph may have no end, and its group may be open or closed.
        self.state.target = Target::Body;
        self.paragraph();
        if !self.stack.is_empty() && !self.composer.is_full() {
            self.reading.warn(
                "truncated",
                "The file ends inside a group, so it was cut off or damaged; what is there was read.",
            );
        }
        if self.too_deep > 0 || self.stack.len() >= MAX_DEPTH {
            self.reading.warn(
                "too-deep",
                format!("Groups nest deeper than {MAX_DEPTH}; what is inside was read as if they did not."),
            );
        }
        if self.composer.is_empty() {
            self.reading.warn("no-text", "The document has no text.");
        }
        self.reading.extent = self.reading.count("RTF:nofpages").map(Extent::Pages);
        self.reading.pages = self.composer.finish();
        self.reading
    }
}

/// The code page of a font's character set.
fn charset(number: i32) -> Option<&'static Encoding> {
    ole::code_page(match number {
        0 => 1252,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rtf: &str) -> Vec<String> {
        read(rtf.as_bytes()).pages.into_iter().flatten().map(|line| line.text).collect()
    }

    #[test]
    fn text_in_any_code_page() {
        let rtf = r"{\rtf1\ansi\ansicpg936{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset136 MingLiU;}}\'d6\'f8\'c2\'bc\par{\f1\'b5\'db\'bf\'fd}\par\uc1\u33879?\u24405?\par caf\'e9}";
        assert_eq!(lines(rtf)[..3], ["著录", "著錄", "著录"].map(str::to_owned));
        assert_eq!(lines(r"{\rtf1\ansi caf\'e9 {\*\unknown gone}stays{\pict ffd8}}"), ["café stays"]);
    }

    #[test]
    fn a_text_for_two_kinds_of_programs_is_read_once() {
        let reading =
            read(br"{\rtf1{\info{\upr{\title ??}{\*\ud{\title \uc1\u33879?\u24405?}}}}{\upr{old}{\*\ud{new}}}}");
        assert_eq!(reading.value("RTF:title"), Some("著录"));
        assert_eq!(reading.pages[0][0].text, "new");
    }

    #[test]
    fn properties_and_looks() {
        let reading = read(br"{\rtf1\ansi{\info{\title A {\b Fine} Day}{\author \u24352?\u19977?}{\creatim\yr2004\mo5\dy6\hr7\min8}{\nofpages3}}{\stylesheet{\s1 heading 1;}}\s1\fs40 Big\par\pard\plain small\super 1\nosupersub\par}");
        assert_eq!(reading.value("RTF:title"), Some("A Fine Day"));
        assert_eq!(reading.value("RTF:author"), Some("张三"));
        assert_eq!(reading.value("RTF:creatim"), Some("2004-05-06T07:08:00"));
        assert_eq!(reading.extent, Some(Extent::Pages(3)));
        assert_eq!((reading.pages[0][0].size, reading.pages[0][0].bold), (20.0, true));
        assert_eq!(reading.pages[0][1].marked, "small;");
    }

    #[test]
    fn nesting_and_cuts() {
        let deep = format!("{{\\rtf1 {}", "{".repeat(50_000));
        assert!(read(deep.as_bytes()).warnings.iter().any(|warning| warning.code == "too-deep"));
        assert_eq!(read(br"{\rtf1 half a sen").warnings[0].code, "truncated");
        read(br"{\rtf1\bin99999999999 \u-99999999999\'");
    }
}
