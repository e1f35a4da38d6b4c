//! A page's content read for its text alone: the operators that place letters are followed, those that paint are skipped.
//!
//! The renderer's interpreter would do, but it prepares colours, patterns and pictures nobody looks at, and does not say which font a
//! letter is in. What letters read as is `font`'s; which of them make a line is `line`'s.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

use hayro_font::kurbo::Affine;
use hayro_syntax::Pdf;
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::bound;
use super::font::{Fonts, PdfFont};
use super::glyph::{Drawn, Glyph, PageGlyphs, clean};
use super::work::{MAX_WORK, WORK_PER_GLYPH};
use crate::foreign::{self, Failure};
use crate::language::is_wide;

/// Forms within forms beyond this are not followed: no program nests so deep.
const MAX_DEPTH: usize = 24;

/// States saved beyond this are not kept: a file that saves without restoring would fill memory.
const MAX_STATES: usize = 512;

/// What following a form costs beside its own operators.
const WORK_PER_FORM: usize = 20;

/// Decoding costs one piece of work for so many bytes.
const BYTES_PER_WORK: usize = 256;

/// Longer replacement texts are set aside: they describe figures and whole paragraphs, and the letters themselves have places.
const MAX_ACTUAL: usize = 4;

/// What a document's pages have in common.
pub(super) struct Shared<'a> {
    pub(super) fonts: Fonts<'a>,
    /// Layers that are switched off.
    hidden: HashSet<ObjectIdentifier>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Shared { fonts: Fonts::new(), hidden: hidden_layers(pdf).unwrap_or_default() }
    }
}

/// The layers a viewer does not show at first.
fn hidden_layers(pdf: &Pdf) -> Option<HashSet<ObjectIdentifier>> {
    let xref = pdf.xref();
    let root = xref.get::<Dict<'_>>(xref.root_id())?;
    let layers = root.get::<Dict<'_>>(b"OCProperties")?;
    let shown = layers.get::<Dict<'_>>(b"D")?;
    let listed = |dict: &Dict<'_>, key: &[u8]| -> Vec<ObjectIdentifier> {
        let array = dict.get::<Array<'_>>(key);
        let items = array.iter().flat_map(|array| array.raw_iter().take(10_000));
        items.filter_map(|item| item.as_obj_ref()).map(ObjectIdentifier::from).collect()
    };
    let mut hidden = HashSet::new();
    if shown.get::<Name<'_>>(b"BaseState").is_some_and(|state| state.as_ref() == b"OFF") {
        hidden.extend(listed(&layers, b"OCGs"));
        listed(&shown, b"ON").iter().for_each(|layer| {
            hidden.remove(layer);
        });
    }
    hidden.extend(listed(&shown, b"OFF"));
    Some(hidden)
}

/// Read the letters of a page, counted from 0. After a failure what is shared may be half-made and must not be used again.
pub(super) fn glyphs<'a>(pdf: &'a Pdf, index: usize, shared: &Shared<'a>) -> Result<PageGlyphs, Failure> {
    foreign::call(|| match pdf.pages().get(index) {
        Some(page) => Reader::new(page, shared).read(page),
        None => PageGlyphs::default(),
    })
}

/// The parts of the graphics state that place letters.
#[derive(Clone)]
struct State<'a> {
    matrix: Affine,
    font: Option<Rc<PdfFont<'a>>>,
    size: f64,
    spacing: f64,
    word_spacing: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

struct Reader<'a, 'r> {
    shared: &'r Shared<'a>,
    page: PageGlyphs,
    /// Letters whose meaning is decided once all codes of their font have been seen: where they belong among the glyphs, font, code.
    pending: Vec<(usize, Rc<PdfFont<'a>>, u32)>,
    drawn: Drawn,
    work: usize,
    state: State<'a>,
    text: Affine,
    line: Affine,
    /// Marked content that is open: whether it is shown.
    marks: Vec<bool>,
    /// Text that stands for the letters drawn now, how deep it was opened, and whether it has been noted.
    actual: Option<(String, usize, bool)>,
}

fn affine(values: [Number; 6]) -> Affine {
    Affine::new(values.map(|number| number.as_f64()))
}

impl<'a, 'r> Reader<'a, 'r> {
    fn new(page: &Page<'a>, shared: &'r Shared<'a>) -> Self {
        let state = State {
            matrix: Affine::new(page.initial_transform(true).as_coeffs()),
            font: None,
            size: 1.0,
            spacing: 0.0,
            word_spacing: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        Reader {
            shared,
            page: PageGlyphs { size: page.render_dimensions(), ..PageGlyphs::default() },
            pending: Vec::new(),
            drawn: Drawn::default(),
            work: 0,
            state,
            text: Affine::IDENTITY,
            line: Affine::IDENTITY,
            marks: Vec::new(),
            actual: None,
        }
    }

    fn work(&mut self, amount: usize) {
        self.work = self.work.saturating_add(amount);
        if self.work > MAX_WORK {
            foreign::enough();
        }
    }

    fn read(mut self, page: &Page<'a>) -> PageGlyphs {
        let content = self.content(page);
        self.follow(&content, page.resources(), 0);
        self.annotations(page);
        self.decide();
        self.page
    }

    /// What a piece of content holds. One that would not end ends the page; one that cannot be unpacked is counted.
    fn unpacked(&mut self, stream: &Stream<'a>) -> Option<Cow<'a, [u8]>> {
        if !bound::fits(stream, bound::MAX_STREAM) {
            foreign::enough();
        }
        let content = stream.decoded_data().ok();
        self.page.lost += usize::from(content.is_none());
        content
    }

    /// The page's content, in one piece or many; what cannot be decoded is left out.
    fn content(&mut self, page: &Page<'a>) -> Cow<'a, [u8]> {
        let content = match page.raw().get::<Object<'a>>(b"Contents") {
            Some(Object::Stream(stream)) => self.unpacked(&stream).unwrap_or_default(),
            Some(Object::Array(array)) => {
                let mut whole = Vec::new();
                for stream in array.iter::<Object<'a>>().filter_map(|object| object.into_stream()) {
                    if let Some(part) = self.unpacked(&stream) {
                        self.work(part.len() / BYTES_PER_WORK);
                        whole.extend_from_slice(&part);
                        // An operator does not run on from one part to the next.
                        whole.push(b' ');
                    }
                    if whole.len() > bound::MAX_STREAM {
                        foreign::enough();
                    }
                }
                Cow::Owned(whole)
            }
            _ => Cow::default(),
        };
        self.work(content.len() / BYTES_PER_WORK);
        content
    }

    /// What comments and filled-in fields show on the page.
    fn annotations(&mut self, page: &Page<'a>) {
        let Some(list) = page.raw().get::<Array<'a>>(b"Annots") else { return };
        let matrix = Affine::new(page.initial_transform(true).as_coeffs());
        for annotation in list.iter::<Dict<'a>>().take(1000) {
            let hidden = annotation.get::<u32>(b"F").is_some_and(|flags| flags & 0x22 != 0);
            let Some(looks) = annotation.get::<Dict<'a>>(b"AP").filter(|_| !hidden) else { continue };
            let normal = looks.get::<Stream<'a>>(b"N").or_else(|| {
                let state = annotation.get::<Name<'_>>(b"AS")?;
                looks.get::<Dict<'a>>(b"N")?.get::<Stream<'a>>(state)
            });
            let (Some(form), Some(place)) = (normal, annotation.get::<[f64; 4]>(b"Rect")) else { continue };
            let Some(frame) = form.dict().get::<[f64; 4]>(b"BBox") else { continue };
            let own = form.dict().get::<[f64; 6]>(b"Matrix").map_or(Affine::IDENTITY, Affine::new);
            let corner = own * hayro_font::kurbo::Point::new(frame[0].min(frame[2]), frame[1].min(frame[3]));
            let shift = Affine::translate((place[0].min(place[2]) - corner.x, place[1].min(place[3]) - corner.y));
            self.state.matrix = matrix * shift;
            self.form(&form, page.resources(), 0);
        }
    }

    fn form(&mut self, form: &Stream<'a>, resources: &Resources<'a>, depth: usize) {
        if depth >= MAX_DEPTH || !self.is_shown() {
            return;
        }
        self.work(WORK_PER_FORM);
        let dict = form.dict();
        if self.is_hidden(dict) {
            return;
        }
        let Some(content) = self.unpacked(form) else { return };
        self.work(content.len() / BYTES_PER_WORK);
        let saved = self.state.clone();
        let (text, line) = (self.text, self.line);
        let marks = self.marks.len();
        if let Some(matrix) = dict.get::<[f64; 6]>(b"Matrix") {
            self.state.matrix *= Affine::new(matrix);
        }
        let own = dict.get::<Dict<'a>>(b"Resources").map(Resources::new);
        self.follow(&content, own.as_ref().unwrap_or(resources), depth + 1);
        self.marks.truncate(marks);
        self.state = saved;
        (self.text, self.line) = (text, line);
    }

    /// Whether what a dictionary describes belongs to a layer that is switched off.
    fn is_hidden(&self, dict: &Dict<'_>) -> bool {
        if self.shared.hidden.is_empty() {
            return false;
        }
        let Some(reference) = dict.get_ref(b"OC") else { return false };
        let layer = dict.get::<Dict<'_>>(b"OC").unwrap_or_default();
        self.is_layer_hidden(reference.into(), &layer)
    }

    fn is_layer_hidden(&self, id: ObjectIdentifier, layer: &Dict<'_>) -> bool {
        let hidden = &self.shared.hidden;
        if layer.get::<Name<'_>>(b"Type").is_none_or(|kind| kind.as_ref() != b"OCMD") {
            return hidden.contains(&id);
        }
        // A membership: hidden when all its layers are, which is the usual policy.
        let members: Vec<ObjectIdentifier> = match layer.get::<Array<'_>>(b"OCGs") {
            Some(array) => array.raw_iter().filter_map(|item| item.as_obj_ref()).map(Into::into).collect(),
            None => layer.get_ref(b"OCGs").map(Into::into).into_iter().collect(),
        };
        !members.is_empty() && members.iter().all(|member| hidden.contains(member))
    }

    fn is_shown(&self) -> bool {
        self.marks.last().copied().unwrap_or(true)
    }

    fn follow(&mut self, content: &[u8], resources: &Resources<'a>, depth: usize) {
        let mut states: Vec<State<'a>> = Vec::new();
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.work(1);
            match operator {
                TypedInstruction::SaveState(_) if states.len() < MAX_STATES => states.push(self.state.clone()),
                TypedInstruction::RestoreState(_) => {
                    if let Some(state) = states.pop() {
                        self.state = state;
                    }
                }
                TypedInstruction::Transform(t) => self.state.matrix *= affine([t.0, t.1, t.2, t.3, t.4, t.5]),
                TypedInstruction::BeginText(_) => {
                    self.text = Affine::IDENTITY;
                    self.line = Affine::IDENTITY;
                }
                TypedInstruction::TextFont(font) => {
                    self.state.font = resources.get_font(font.0).and_then(|dict| self.shared.fonts.get(&dict));
                    self.state.size = font.1.as_f64();
                }
                TypedInstruction::SetGraphicsState(name) => {
                    // Almost never does a state of graphics name a font.
                    let font = resources.get_ext_g_state(name.0).and_then(|state| state.get::<Array<'a>>(b"Font"));
                    if let Some(font) = font {
                        let mut parts = font.flex_iter();
                        let dict = parts.next::<Dict<'a>>();
                        self.state.font = dict.and_then(|dict| self.shared.fonts.get(&dict));
                        self.state.size = parts.next::<f64>().unwrap_or(1.0);
                    }
                }
                TypedInstruction::CharacterSpacing(value) => self.state.spacing = value.0.as_f64(),
                TypedInstruction::WordSpacing(value) => self.state.word_spacing = value.0.as_f64(),
                TypedInstruction::HorizontalScaling(value) => self.state.stretch = value.0.as_f64() / 100.0,
                TypedInstruction::TextLeading(value) => self.state.leading = value.0.as_f64(),
                TypedInstruction::TextRise(value) => self.state.rise = value.0.as_f64(),
                TypedInstruction::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
                TypedInstruction::NextLineAndSetLeading(by) => {
                    self.state.leading = -by.1.as_f64();
                    self.next_line(by.0.as_f64(), by.1.as_f64());
                }
                TypedInstruction::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
                TypedInstruction::SetTextMatrix(t) => {
                    self.line = affine([t.0, t.1, t.2, t.3, t.4, t.5]);
                    self.text = self.line;
                }
                TypedInstruction::ShowText(text) => self.show(text.0.as_bytes()),
                TypedInstruction::NextLineAndShowText(text) => {
                    self.next_line(0.0, -self.state.leading);
                    self.show(text.0.as_bytes());
                }
                TypedInstruction::ShowTextWithParameters(text) => {
                    self.state.word_spacing = text.0.as_f64();
                    self.state.spacing = text.1.as_f64();
                    self.next_line(0.0, -self.state.leading);
                    self.show(text.2.as_bytes());
                }
                TypedInstruction::ShowTexts(texts) => {
                    for part in texts.0.iter::<Object<'_>>() {
                        match part {
                            Object::String(text) => self.show(text.as_bytes()),
                            Object::Number(back) => self.adjust(back.as_f64()),
                            _ => {}
                        }
                    }
                }
                TypedInstruction::XObject(name) => {
                    if let Some(form) = resources.get_x_object(name.0)
                        && form.dict().get::<Name<'_>>(b"Subtype").is_none_or(|kind| kind.as_ref() != b"Image")
                    {
                        self.form(&form, resources, depth);
                    }
                }
                TypedInstruction::BeginMarkedContent(_) => self.open(true),
                TypedInstruction::BeginMarkedContentWithProperties(mark) => {
                    let hidden = mark.0.as_ref() == b"OC" && self.is_mark_hidden(mark.1, resources);
                    self.open(!hidden);
                    if let Object::Dict(properties) = mark.1
                        && let Some(actual) = properties.get::<PdfString<'_>>(b"ActualText")
                        && self.actual.is_none()
                        && let Some(text) = actual_text(&actual)
                    {
                        self.actual = Some((text, self.marks.len(), false));
                    }
                }
                TypedInstruction::EndMarkedContent(_) => {
                    if self.actual.as_ref().is_some_and(|(_, depth, _)| *depth == self.marks.len()) {
                        self.actual = None;
                    }
                    self.marks.pop();
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, shown: bool) {
        let shown = shown && self.is_shown();
        if self.marks.len() < 10_000 {
            self.marks.push(shown);
        }
    }

    fn is_mark_hidden(&self, properties: &Object<'_>, resources: &Resources<'a>) -> bool {
        let Object::Name(name) = properties else { return false };
        if self.shared.hidden.is_empty() {
            return false;
        }
        let Some(reference) = resources.properties.get_ref(name.as_ref()) else { return false };
        let layer = resources.properties.get::<Dict<'_>>(name.as_ref()).unwrap_or_default();
        self.is_layer_hidden(reference.into(), &layer)
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate((x, y));
        self.text = self.line;
    }

    fn adjust(&mut self, back: f64) {
        let by = -back / 1000.0 * self.state.size;
        let horizontal = self.state.font.as_ref().is_none_or(|font| font.horizontal);
        self.move_on(if horizontal { (by * self.state.stretch, 0.0) } else { (0.0, by) });
    }

    fn move_on(&mut self, (x, y): (f64, f64)) {
        let [a, b, c, d, e, f] = self.text.as_coeffs();
        self.text = Affine::new([a, b, c, d, a * x + c * y + e, b * x + d * y + f]);
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = self.state.font.clone() else { return };
        // A font that could not be loaded has no codes of its own.
        let shown = self.is_shown() && (!font.plain || bytes.is_ascii());
        let State { size, spacing, word_spacing, stretch, rise, .. } = self.state;
        let mut at = 0;
        while at < bytes.len() {
            let (code, length) = font.code(bytes, at);
            at += length;
            let reading = font.reading(code);
            if shown {
                self.work(WORK_PER_GLYPH);
                let place = self.state.matrix * self.text * Affine::new([size * stretch, 0.0, 0.0, size, 0.0, rise]);
                self.note(&font, code, &reading.text, place, reading.advance.0, reading.displacement);
            }
            let spacing = if code == 32 && length == 1 { spacing + word_spacing } else { spacing };
            let (x, y) = reading.advance;
            self.move_on(if font.horizontal {
                ((x / 1000.0 * size + spacing) * stretch, 0.0)
            } else {
                (0.0, y / 1000.0 * size + spacing)
            });
        }
    }

    /// Note one letter, placed by a matrix that makes an em of one unit.
    fn note(
        &mut self,
        font: &Rc<PdfFont<'a>>,
        code: u32,
        text: &Option<Rc<str>>,
        place: Affine,
        advance: f64,
        (x, y): (f64, f64),
    ) {
        let [a, b, c, d, e, f] = place.as_coeffs();
        let (x, y) = (e + (a * x + c * y) / 1000.0, f + (b * x + d * y) / 1000.0);
        let size = c.hypot(d);
        // Text that runs along the edge of the page (a stamp of the archive it came from) is not part of it.
        let upright = a > 0.0 && b.abs() < 0.1 * a && d < 0.0;
        let (width, height) = self.page.size;
        let inside = (-1.0..=f64::from(width) + 1.0).contains(&x) && (-1.0..=f64::from(height) + 1.0).contains(&y);
        if !upright || !inside || !(0.5..=2000.0).contains(&size) {
            return;
        }
        let mut glyph = Glyph {
            text: String::new(),
            left: x as f32,
            right: x as f32,
            baseline: y as f32,
            size: size as f32,
            bold: font.bold,
        };
        let advance = Some(advance / 1000.0 * a).filter(|width| *width > 0.0 && *width < 3.0 * size);
        let right = |first: char| (x + advance.unwrap_or(if is_wide(first) { size } else { 0.5 * size })) as f32;
        if let Some((actual, _, noted)) = &mut self.actual {
            if *noted {
                // The text was noted with its first letter, and now reaches as far as this one.
                if let Some(last) = self.page.glyphs.last_mut() {
                    last.right = last.right.max(right('n'));
                }
            } else if let Some(first) = actual.chars().next() {
                *noted = true;
                glyph.text.clone_from(actual);
                glyph.right = right(first);
                self.page.glyphs.push(glyph);
            }
            return;
        }
        let Some(text) = text else {
            font.note_unread(code);
            glyph.right = right('n');
            self.pending.push((self.page.glyphs.len(), font.clone(), code));
            self.page.glyphs.push(glyph);
            return;
        };
        let Some(first) = text.chars().next() else { return };
        glyph.text = text.as_ref().to_owned();
        glyph.right = right(first);
        if first.is_whitespace() || !self.drawn.is_repeated(first, &glyph) {
            self.page.glyphs.push(glyph);
        }
    }

    /// Give the letters without a reading the one that all of their font's codes together speak for, and drop the rest.
    fn decide(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        for (index, font, code) in std::mem::take(&mut self.pending) {
            match font.guess(code) {
                Some(text) => self.page.glyphs[index].text.push_str(text),
                None => self.page.unmapped += 1,
            }
        }
        self.page.glyphs.retain(|glyph| !glyph.text.is_empty());
    }
}

/// A replacement text short enough to be used.
fn actual_text(bytes: &[u8]) -> Option<String> {
    let text = super::info::decode(bytes)?;
    (text.chars().count() <= MAX_ACTUAL).then(|| clean(&text)).flatten()
}
