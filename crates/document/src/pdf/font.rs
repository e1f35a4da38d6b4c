//! The fonts of a page: what each code reads as, and how wide it is.
//!
//! Loading is the library's (hayro-font), and so is reading by a ToUnicode table or by glyph names. Added here: characters of Chinese,
//! Japanese and Korean collections (Adobe-GB1 …), the embedded font's own table read backwards, TeX's encodings where a font gives its
//! letters no names, and the name and weight as the dictionary has them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use hayro_font::hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, StandardFont};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as PdfString};
use skrifa::{FontRef, MetadataProvider};

use super::bound;
use super::glyph::{Quick, clean};
use super::tex;
use crate::text;

/// All fonts of a document met so far.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    /// By where the dictionary stands in the file.
    known: RefCell<HashMap<(usize, usize), Rc<PdfFont<'a>>>>,
    resolver: FontResolverFn,
    cmaps: CMapResolverFn,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        let resolver: FontResolverFn = Arc::new(|query| match query {
            FontQuery::Standard(font) => Some(font.get_font_data()),
            FontQuery::Fallback(query) => Some(query.pick_standard_font().get_font_data()),
        });
        Fonts { cache: FontCache::new(), known: RefCell::new(HashMap::new()), resolver, cmaps: Arc::new(load_embedded) }
    }

    /// The font a dictionary describes. One that cannot be loaded shows plain ASCII, as viewers do.
    pub(super) fn get(&self, dict: &Dict<'a>) -> Option<Rc<PdfFont<'a>>> {
        let data = dict.data();
        let key = (data.as_ptr() as usize, data.len());
        if let Some(font) = self.known.borrow().get(&key) {
            return Some(font.clone());
        }
        let loaded = if is_moderate(dict) { self.cache.font(dict, &self.resolver, &self.cmaps) } else { None };
        let plain = loaded.is_none();
        let font = match loaded {
            Some(font) => font,
            None => self.cache.standard_font(StandardFont::Helvetica, &self.resolver)?,
        };
        let font = Rc::new(PdfFont::new(font, dict, plain));
        self.known.borrow_mut().insert(key, font.clone());
        Some(font)
    }

    /// The names of the fonts met so far, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.known.borrow().values().map(|font| font.name.clone()).filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Whether all streams that loading a font would decode are of moderate size.
fn is_moderate(dict: &Dict<'_>) -> bool {
    let fits = |dict: &Dict<'_>, key: &[u8]| {
        dict.get::<Stream<'_>>(key).is_none_or(|stream| bound::fits(&stream, bound::MAX_STREAM))
    };
    let described = |dict: &Dict<'_>| {
        dict.get::<Dict<'_>>(b"FontDescriptor").is_none_or(|descriptor| {
            [&b"FontFile"[..], b"FontFile2", b"FontFile3"].iter().all(|key| fits(&descriptor, key))
        })
    };
    let descendant = dict.get::<Array<'_>>(b"DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    fits(dict, b"ToUnicode")
        && fits(dict, b"Encoding")
        && described(dict)
        && descendant.is_none_or(|font| fits(&font, b"CIDToGIDMap") && described(&font))
}

/// What a code of a font stands for.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Its text; `None` if the file does not say.
    pub(super) text: Option<Rc<str>>,
    /// Its advance and the way from the text's origin to the glyph's, in thousandths of an em.
    pub(super) advance: (f64, f64),
    pub(super) displacement: (f64, f64),
}

/// One font.
pub(super) struct PdfFont<'a> {
    font: Font<'a>,
    dict: Dict<'a>,
    pub(super) name: String,
    pub(super) bold: bool,
    pub(super) horizontal: bool,
    /// Whether it stands in for one that could not be loaded.
    pub(super) plain: bool,
    composite: bool,
    readings: RefCell<HashMap<u32, Rc<Reading>, Quick>>,
    collection: OnceCell<Option<Collection>>,
    /// The embedded font's own table, from glyphs to characters.
    reverse: OnceCell<HashMap<u32, char>>,
    /// How often codes without a reading were used: what decides between TeX's encodings.
    unread: RefCell<Vec<u32>>,
    /// Whether every ASCII code with a reading reads as itself.
    ascii: Cell<bool>,
}

impl<'a> PdfFont<'a> {
    fn new(font: Font<'a>, dict: &Dict<'a>, plain: bool) -> Self {
        let composite = dict.get::<Name<'_>>(b"Subtype").is_some_and(|name| name.as_ref() == b"Type0");
        let descendant = dict.get::<Array<'_>>(b"DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
        let descriptor = descendant.as_ref().unwrap_or(dict).get::<Dict<'_>>(b"FontDescriptor").unwrap_or_default();
        let name = dict.get::<Name<'_>>(b"BaseFont").map(|name| font_name(&name)).unwrap_or_default();
        let weight = descriptor.get::<i32>(b"FontWeight").unwrap_or(0);
        let forced = descriptor.get::<u32>(b"Flags").is_some_and(|flags| flags & 1 << 18 != 0);
        PdfFont {
            horizontal: font.is_horizontal(),
            bold: weight >= 600 || forced || sounds_bold(&name),
            font,
            dict: dict.clone(),
            name,
            plain,
            composite,
            readings: RefCell::default(),
            collection: OnceCell::new(),
            reverse: OnceCell::new(),
            unread: RefCell::default(),
            ascii: Cell::new(true),
        }
    }

    /// The next code in a string, and how many bytes it takes.
    pub(super) fn code(&self, bytes: &[u8], at: usize) -> (u32, usize) {
        let (code, length) = self.font.read_code(bytes, at);
        (code, length.max(1))
    }

    /// What a code stands for.
    pub(super) fn reading(&self, code: u32) -> Rc<Reading> {
        if let Some(reading) = self.readings.borrow().get(&code) {
            return reading.clone();
        }
        let advance = self.font.code_advance(code);
        let displacement = self.font.origin_displacement(code);
        let text = self.text(code);
        if let (0x21..=0x7e, Some(text)) = (code, &text) {
            let itself = char::from_u32(code).is_some_and(|c| text.chars().eq([c]));
            self.ascii.set(self.ascii.get() && (itself || tex::changes(code)));
        }
        let reading = Rc::new(Reading {
            text: text.map(Rc::from),
            advance: (advance.x, advance.y),
            displacement: (displacement.x, displacement.y),
        });
        self.readings.borrow_mut().insert(code, reading.clone());
        reading
    }

    fn text(&self, code: u32) -> Option<String> {
        let glyph = self.font.glyph(self.font.map_code(code), code);
        let said = match &glyph {
            FontGlyph::Outline(outline) => outline.as_unicode(),
            FontGlyph::Type3(type3) => type3.as_unicode(),
        };
        let owned = |text: BfString| match text {
            BfString::Char(c) => clean(c.encode_utf8(&mut [0; 4])),
            BfString::String(text) => clean(&text),
        };
        said.and_then(owned).or_else(|| {
            let collected = self.composite.then(|| self.collected(code)).flatten().and_then(owned);
            collected.or_else(|| self.reversed(&glyph))
        })
    }

    /// What the character collection of a composite font says.
    fn collected(&self, code: u32) -> Option<BfString> {
        let collection = self.collection.get_or_init(|| Collection::of(&self.dict)).as_ref()?;
        let cid = (1..=4).find_map(|length| collection.encoding.lookup_cid_code(code, length))?;
        collection.characters.lookup_bf_string(cid)
    }

    /// What the embedded font's own table says.
    fn reversed(&self, glyph: &FontGlyph<'_>) -> Option<String> {
        let FontGlyph::Outline(outline) = glyph else { return None };
        let id = outline.glyph_id().to_u32();
        if id == 0 {
            return None;
        }
        let table = self.reverse.get_or_init(|| {
            let Some(font) = outline.font_data() else { return HashMap::new() };
            let data = (*font.data).as_ref();
            let Ok(font) = FontRef::from_index(data, 0) else { return HashMap::new() };
            let mut table: HashMap<u32, char> = HashMap::new();
            for (character, glyph) in font.charmap().mappings().take(1 << 17) {
                let Some(character) = char::from_u32(character) else { continue };
                let kept = table.entry(glyph.to_u32()).or_insert(character);
                if oddness(character) < oddness(*kept) {
                    *kept = character;
                }
            }
            table
        });
        table.get(&id).and_then(|c| clean(c.encode_utf8(&mut [0; 4])))
    }

    /// Note that a code without a reading was drawn.
    pub(super) fn note_unread(&self, code: u32) {
        if self.composite || code > 0xff {
            return;
        }
        let mut unread = self.unread.borrow_mut();
        unread.resize(256, 0);
        unread[code as usize] += 1;
    }

    /// What a code without a reading is in the encoding of TeX's that the codes used so far fit, if they fit one.
    pub(super) fn guess(&self, code: u32) -> Option<&'static str> {
        if self.composite || self.plain || !self.ascii.get() {
            return None;
        }
        tex::read(&self.unread.borrow(), u8::try_from(code).ok()?)
    }
}

/// A character that a font has for reasons of compatibility ranks after the one it stands for.
fn oddness(c: char) -> u8 {
    match c {
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => 3,
        '\u{2e80}'..='\u{2fdf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}' => 2,
        '\u{a0}' | '\u{ad}' | '\u{fb00}'..='\u{fb06}' => 1,
        _ => 0,
    }
}

/// The characters of a composite font: codes to the collection's numbers, numbers to characters.
struct Collection {
    encoding: CMap,
    characters: &'static CMap,
}

impl Collection {
    fn of(dict: &Dict<'_>) -> Option<Self> {
        let encoding = match dict.get::<Object<'_>>(b"Encoding")? {
            Object::Name(name) => match CMapName::from_bytes(&name) {
                CMapName::IdentityH => CMap::identity_h(),
                CMapName::IdentityV => CMap::identity_v(),
                known => CMap::parse(load_embedded(known)?, load_embedded)?,
            },
            Object::Stream(stream) => CMap::parse(&bound::decoded(&stream)?, load_embedded)?,
            _ => return None,
        };
        let named = encoding.metadata().character_collection.as_ref().map(|collection| collection.family.clone());
        let family = named.filter(|family| characters(family).is_some()).or_else(|| {
            let descendant = dict.get::<Array<'_>>(b"DescendantFonts")?.iter::<Dict<'_>>().next()?;
            let system = descendant.get::<Dict<'_>>(b"CIDSystemInfo")?;
            let registry = system.get::<PdfString<'_>>(b"Registry")?;
            let ordering = system.get::<PdfString<'_>>(b"Ordering")?;
            Some(CidFamily::from_registry_ordering(&registry, &ordering))
        })?;
        Some(Collection { encoding, characters: characters(&family)? })
    }
}

/// The table of a collection's characters. Reading one takes a millisecond, so each is read once.
fn characters(family: &CidFamily) -> Option<&'static CMap> {
    fn read(family: CidFamily) -> Option<CMap> {
        CMap::parse(load_embedded(family.ucs2_cmap()?)?, load_embedded)
    }
    static GB: LazyLock<Option<CMap>> = LazyLock::new(|| read(CidFamily::AdobeGB1));
    static CNS: LazyLock<Option<CMap>> = LazyLock::new(|| read(CidFamily::AdobeCNS1));
    static JAPAN: LazyLock<Option<CMap>> = LazyLock::new(|| read(CidFamily::AdobeJapan1));
    static KOREA: LazyLock<Option<CMap>> = LazyLock::new(|| read(CidFamily::AdobeKorea1));
    match family {
        CidFamily::AdobeGB1 => GB.as_ref(),
        CidFamily::AdobeCNS1 => CNS.as_ref(),
        CidFamily::AdobeJapan1 => JAPAN.as_ref(),
        CidFamily::AdobeKorea1 => KOREA.as_ref(),
        CidFamily::AdobeIdentity | CidFamily::Custom { .. } => None,
    }
}

/// A font's name without the mark of a subset. Chinese programs write it in GBK.
fn font_name(name: &[u8]) -> String {
    let name = match name.iter().position(|byte| *byte == b'+') {
        Some(6) => &name[7..],
        _ => name,
    };
    let name = &name[..name.len().min(200)];
    let decoded = match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        // Too short for statistics: bytes that are good GBK are taken for it, as there is no other encoding in use for names.
        Err(_) => match encoding_rs::GB18030.decode_without_bom_handling_and_without_replacement(name) {
            Some(name) => name.into_owned(),
            None => text::decode(name).text,
        },
    };
    decoded.chars().filter(|c| !c.is_control()).collect()
}

/// Whether a font is bold by its name: in words, by TeX's letters, or because the typeface is a heavy one.
fn sounds_bold(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["bold", "black", "heavy", "simhei", "黑体", "cmbx", "sfbx", "cmssbx"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_however_they_were_written() {
        assert_eq!(font_name(b"ABCDEF+Times-Bold"), "Times-Bold");
        let (gbk, ..) = encoding_rs::GBK.encode("黑体");
        assert_eq!(font_name(&gbk), "黑体");
        assert_eq!(font_name("宋体".as_bytes()), "宋体");
        assert!(sounds_bold(&font_name(&gbk)) && sounds_bold("CMBX12") && !sounds_bold("CMR10"));
    }

    #[test]
    fn the_plainest_character_is_kept() {
        assert!(oddness('一') < oddness('\u{2f00}') && oddness('-') < oddness('\u{ad}'));
    }

    #[test]
    fn collections_are_at_hand() {
        let table = characters(&CidFamily::AdobeGB1).unwrap();
        // CID 4559 of Adobe-GB1 is the character 中 (U+4E2D).
        assert_eq!(table.lookup_bf_string(4559), Some(BfString::Char('中')));
    }
}
