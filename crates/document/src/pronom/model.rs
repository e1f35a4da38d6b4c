//! What a signature file says, as values: formats, byte sequences and container signatures. Reading them from XML is `xml`'s, from the compact
//! form `compact`'s; applying them is `sequence`'s.

/// Byte values, one bit each.
pub(crate) type Set = [u64; 4];

/// One place in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    /// Exactly this byte.
    Byte(u8),
    /// One byte of a set.
    Set(Box<Set>),
    /// As many bytes as the bounds have, between them in the order of numbers, or outside them.
    Span { low: Vec<u8>, high: Vec<u8>, inside: bool },
}

impl Element {
    pub(crate) fn width(&self) -> usize {
        match self {
            Element::Byte(_) | Element::Set(_) => 1,
            Element::Span { low, .. } => low.len(),
        }
    }

    /// Whether the bytes, as many as the element is wide, fit.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        match self {
            Element::Byte(byte) => bytes[0] == *byte,
            Element::Set(set) => contains(set, bytes[0]),
            Element::Span { low, high, inside } => (low.as_slice() <= bytes && bytes <= high.as_slice()) == *inside,
        }
    }
}

/// Whether a byte is in a set.
pub(crate) fn contains(set: &Set, byte: u8) -> bool {
    set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

/// The set of all bytes that pass a test.
pub(crate) fn set_of(test: impl Fn(u8) -> bool) -> Set {
    let mut set = [0; 4];
    for byte in (0..=u8::MAX).filter(|byte| test(*byte)) {
        set[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    set
}

/// A run of elements without gaps, and how far it lies from its neighbour on the anchor's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The least number of bytes between it and that neighbour.
    pub(crate) min: u32,
    /// The greatest.
    pub(crate) max: u32,
    /// What it is made of; empty where exact bytes say it all.
    pub(crate) elements: Vec<Element>,
    /// How many bytes it is wide.
    pub(crate) width: usize,
    /// Its longest run of exact bytes, and where in the fragment that begins.
    pub(crate) literal: (usize, Vec<u8>),
}

impl Fragment {
    pub(crate) fn new(min: u32, max: u32, elements: Vec<Element>) -> Self {
        let width = elements.iter().map(Element::width).sum();
        let is_byte = |element: &Element| matches!(element, Element::Byte(_));
        let mut literal: (usize, Vec<u8>) = (0, Vec::new());
        let mut at = 0;
        for run in elements.chunk_by(|a, b| is_byte(a) && is_byte(b)) {
            if is_byte(&run[0]) && run.len() > literal.1.len() {
                let bytes = run.iter().filter_map(|element| match element {
                    Element::Byte(byte) => Some(*byte),
                    _ => None,
                });
                literal = (at, bytes.collect());
            }
            at += run.iter().map(Element::width).sum::<usize>();
        }
        Fragment { min, max: max.max(min), elements, width, literal }
    }

    /// One of exact bytes only, which need no elements beside them.
    pub(crate) fn exact(min: u32, max: u32, bytes: Vec<u8>) -> Self {
        Fragment { min, max: max.max(min), elements: Vec::new(), width: bytes.len(), literal: (0, bytes) }
    }

    /// Whether it is made of exact bytes only.
    pub(crate) fn is_literal(&self) -> bool {
        self.literal.1.len() == self.width
    }

    /// Whether the bytes, at least as many as it is wide, begin with it.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        if self.is_literal() {
            return bytes[..self.width] == *self.literal.1;
        }
        let mut rest = bytes;
        self.elements.iter().all(|element| {
            let (these, others) = rest.split_at(element.width());
            rest = others;
            element.fits(these)
        })
    }
}

/// Fragments any of which may stand in one place.
pub(crate) type Group = Vec<Fragment>;

/// A part of a byte sequence, with an anchor to look for and what lies left and right of it. Between two parts there may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The least distance from the sequence's origin, or from the part before.
    pub(crate) min: u32,
    /// The greatest distance; none where the part may lie anywhere further on.
    pub(crate) max: Option<u32>,
    /// What is looked for first.
    pub(crate) anchor: Group,
    /// What lies left of the anchor, nearest first.
    pub(crate) left: Vec<Group>,
    /// What lies right of the anchor, nearest first.
    pub(crate) right: Vec<Group>,
}

impl Part {
    /// The least and greatest number of bytes on one side of the anchor.
    pub(crate) fn reach(groups: &[Group]) -> (u64, u64) {
        let mut reach = (0, 0);
        for group in groups {
            reach.0 += group.iter().map(|one| u64::from(one.min) + one.width as u64).min().unwrap_or(0);
            reach.1 += group.iter().map(|one| u64::from(one.max) + one.width as u64).max().unwrap_or(0);
        }
        reach
    }
}

/// What a byte sequence's offsets are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The beginning of the file.
    Start,
    /// Its end.
    End,
    /// Nothing: it may lie anywhere.
    Anywhere,
}

/// One of the byte sequences that a signature needs, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) origin: Origin,
    /// In the order in which they lie in the file.
    pub(crate) parts: Vec<Part>,
}

/// A signature and the formats it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) formats: Vec<u32>,
    pub(crate) sequences: Vec<Sequence>,
}

/// A file format of PRONOM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its identifier.
    pub puid: String,
    /// Its name.
    pub name: String,
    /// Its version; empty where it has none.
    pub version: String,
    /// Its media types, separated by commas; empty where it has none.
    pub mime: String,
    /// The endings of its files' names, in small letters.
    pub extensions: Vec<String>,
    /// The formats it is preferred to, by their place in the list of formats.
    pub(crate) over: Vec<u32>,
    /// Whether any signature tells it.
    pub(crate) signed: bool,
}

/// What kind of container a signature looks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Ole2,
    Zip,
}

/// What a container must hold for a signature to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inner {
    /// The name of the entry.
    pub(crate) path: String,
    /// Signatures any of which its bytes must bear; none where it is enough that it is there.
    pub(crate) signatures: Vec<Vec<Sequence>>,
}

/// A container signature and the formats it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerSignature {
    pub(crate) container: Container,
    pub(crate) formats: Vec<u32>,
    pub(crate) files: Vec<Inner>,
}

/// Everything a pair of signature files says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Signatures {
    /// The version of the signature file.
    pub(crate) version: String,
    /// When it was made.
    pub(crate) created: String,
    /// The version of the container signature file; empty without one.
    pub(crate) container_version: String,
    pub(crate) formats: Vec<Entry>,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) containers: Vec<ContainerSignature>,
    /// The formats whose files are looked into.
    pub(crate) triggers: Vec<(Container, u32)>,
}

impl Signatures {
    /// Forgets the container signatures, and that they told formats.
    pub(crate) fn drop_containers(&mut self) {
        self.containers.clear();
        self.triggers.clear();
        self.container_version.clear();
        for format in &mut self.formats {
            format.signed = false;
        }
        for format in self.signatures.iter().flat_map(|signature| &signature.formats) {
            self.formats[*format as usize].signed = true;
        }
    }
}
