//! Which format a file is in, by the signatures of PRONOM: bytes at places, entries of containers, and failing those, its name.
//!
//! The results are those of DROID: every signature that fits tells its formats; formats that another one has priority over are dropped; a ZIP or
//! OLE2 file is looked into; and the name's ending decides only where no bytes do. A signature that may lie anywhere is looked for in the
//! first and last [`Scan`] bytes, so that a file costs what its windows cost. Opening files and walking folders is `gather`'s.

mod compact;
mod container;
mod details;
mod expression;
mod index;
mod model;
mod ole2;
mod sequence;
mod source;
mod xml;
pub mod zip;

use std::collections::HashMap;
use std::sync::OnceLock;

use self::container::Opened;
pub use self::details::Details;
use self::index::Index;
pub use self::model::Entry;
use self::model::Signatures;
pub use self::source::Source;
use self::source::View;
pub use self::xml::Error;

/// PRONOM as it ships with the program; `data/README.md` says where it comes from.
static BUILT_IN: &[u8] = include_bytes!("../../data/pronom.bin");

/// Signatures made ready to be applied.
pub struct Identifier {
    signatures: Signatures,
    index: Index,
    /// The formats by the endings of names, and by media type.
    by_extension: HashMap<String, Vec<u32>>,
    by_mime: HashMap<String, Vec<u32>>,
}

/// How far from either end of a file signatures are looked for that may lie anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// So many bytes from either end.
    Bytes(u64),
    /// Everywhere.
    Whole,
}

impl Default for Scan {
    /// DROID's own bound.
    fn default() -> Self {
        Scan::Bytes(65_536)
    }
}

/// What is known of a file beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// Its name; folders before it do no harm.
    pub name: &'a str,
    /// The media type somebody declared it to have.
    pub mime: Option<&'a str>,
}

/// What told a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Bytes at their places.
    Signature,
    /// The entries of a container.
    Container,
    /// Its bytes making sense as text.
    Text,
    /// The ending of its name.
    Extension,
    /// The media type it was declared to have.
    Mime,
    /// Nothing.
    None,
}

impl Basis {
    /// As DROID's reports name it; empty where it has no name for it.
    pub fn method(self) -> &'static str {
        match self {
            Basis::Signature => "Signature",
            Basis::Container => "Container",
            Basis::Extension => "Extension",
            Basis::Text => "Text",
            Basis::Mime => "MIME",
            Basis::None => "",
        }
    }
}

/// A format a file may be in, and why.
#[derive(Debug, Clone)]
pub struct Match<'a> {
    /// The format.
    pub format: &'a Entry,
    /// What told it.
    pub by: Basis,
    /// The same in words: `byte match at 0, 8; extension match pdf`.
    pub basis: String,
}

/// What a file turned out to be.
#[derive(Debug, Clone)]
pub struct Identification<'a> {
    /// The formats it may be in, the likeliest first; none where nothing is known.
    pub matches: Vec<Match<'a>>,
    /// Whether the name's ending belongs to none of the formats its bytes tell.
    pub mismatch: bool,
    /// What a person should know before believing it.
    pub warning: Option<String>,
    /// Why the file could not be read to its end, where that happened.
    pub trouble: Option<String>,
}

impl Identification<'_> {
    /// What told the first format.
    pub fn by(&self) -> Basis {
        self.matches.first().map_or(Basis::None, |one| one.by)
    }
}

/// Which signatures are in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The version of the signature file.
    pub version: String,
    /// When it was made.
    pub created: String,
    /// The version of the container signature file; empty without one.
    pub container_version: String,
    /// How many formats, signatures and container signatures there are.
    pub counts: (usize, usize, usize),
}

impl Identifier {
    /// The signatures that ship with the program. They are made ready once, when first asked for.
    pub fn built_in() -> &'static Identifier {
        static READY: OnceLock<Identifier> = OnceLock::new();
        READY.get_or_init(|| Identifier::new(compact::read(BUILT_IN).unwrap_or_default()))
    }

    /// Signatures from DROID's XML: a signature file, a container signature file, or both. What is not given is taken from the built-in
    /// signatures.
    pub fn from_xml(signatures: Option<&[u8]>, containers: Option<&[u8]>) -> Result<Self, Error> {
        let mut read = match signatures {
            Some(signatures) => xml::read(signatures)?,
            None => Identifier::built_in().signatures.clone(),
        };
        match containers {
            Some(containers) => xml::read_containers(&mut read, containers)?,
            None if signatures.is_some() => borrow_containers(&mut read, &Identifier::built_in().signatures),
            None => {}
        }
        Ok(Identifier::new(read))
    }

    /// Signatures in the compact form, if these bytes are that.
    pub fn from_compact(bytes: &[u8]) -> Option<Self> {
        compact::read(bytes).map(Identifier::new)
    }

    /// The signatures in the compact form, for keeping.
    pub fn compact(&self) -> Vec<u8> {
        compact::write(&self.signatures)
    }

    fn new(signatures: Signatures) -> Self {
        let mut by_extension: HashMap<String, Vec<u32>> = HashMap::new();
        let mut by_mime: HashMap<String, Vec<u32>> = HashMap::new();
        for (format, index) in signatures.formats.iter().zip(0..) {
            for extension in &format.extensions {
                by_extension.entry(extension.clone()).or_default().push(index);
            }
            for mime in format.mime.split(',').map(str::trim).filter(|mime| !mime.is_empty()) {
                by_mime.entry(mime.to_lowercase()).or_default().push(index);
            }
        }
        let index = Index::new(&signatures.signatures);
        Identifier { signatures, index, by_extension, by_mime }
    }

    /// Which signatures these are.
    pub fn release(&self) -> Release {
        let Signatures { version, created, container_version, formats, signatures, containers, .. } = &self.signatures;
        Release {
            version: version.clone(),
            created: created.clone(),
            container_version: container_version.clone(),
            counts: (formats.len(), signatures.len(), containers.len()),
        }
    }

    /// The format with this identifier.
    pub fn format(&self, puid: &str) -> Option<&Entry> {
        self.signatures.formats.iter().find(|format| format.puid == puid)
    }

    /// Name the formats a file may be in.
    pub fn identify(&self, source: &dyn Source, hints: Hints<'_>, scan: Scan) -> Identification<'_> {
        self.look(source, hints, scan).0
    }

    /// The same, and what can be told of how the file was made.
    pub fn identify_with_details(
        &self,
        source: &dyn Source,
        hints: Hints<'_>,
        scan: Scan,
    ) -> (Identification<'_>, Details) {
        let (identification, view) = self.look(source, hints, scan);
        let details = Details::of(&identification, &view);
        (identification, details)
    }

    fn look<'s>(&self, source: &'s dyn Source, hints: Hints<'_>, scan: Scan) -> (Identification<'_>, View<'s>) {
        let scan = match scan {
            Scan::Bytes(bytes) => bytes,
            Scan::Whole => source.size(),
        };
        let mut view = View::new(source, self.index.head.max(scan), self.index.tail.max(scan), scan);
        let extension = extension(hints.name);
        let mut found = self.by_bytes(&mut view);
        let mut wrapped = false;
        let mut opened_kind = None;
        for (container, format) in &self.signatures.triggers {
            if found.iter().any(|(told, ..)| told == format) {
                wrapped = true;
                opened_kind.get_or_insert(*container);
            }
        }
        if let Some(container) = opened_kind {
            let told = Opened::new(container, view.as_source())
                .map(|opened| container::told(&self.signatures, container, &opened))
                .unwrap_or_default();
            if !told.is_empty() {
                wrapped = false;
                found = told.into_iter().map(|told| (told.format, Basis::Container, told.basis)).collect();
            }
        }
        self.drop_lesser(&mut found);
        let trouble = view.trouble.as_ref().map(|error| format!("it cannot be read to its end: {error}"));
        let exhausted = view.is_exhausted();
        let mut identification = self.conclude(found, &view, extension.as_deref(), hints.mime, wrapped);
        if exhausted {
            add(&mut identification.warning, "the search was given up: its bytes fit parts of signatures too often");
        }
        identification.trouble = trouble;
        (identification, view)
    }

    /// Every format whose signature fits, once each.
    fn by_bytes(&self, view: &mut View<'_>) -> Vec<(u32, Basis, String)> {
        let mut candidates = Vec::new();
        self.index.worth_trying(view, &mut candidates);
        let mut found: Vec<(u32, Basis, String)> = Vec::new();
        for candidate in candidates {
            let signature = &self.signatures.signatures[candidate as usize];
            let Some(places) = sequence::all(view, &signature.sequences) else { continue };
            for format in &signature.formats {
                if !found.iter().any(|(other, ..)| other == format) {
                    let basis = format!("byte match at {}", container::shown(&places));
                    found.push((*format, Basis::Signature, basis));
                }
            }
        }
        found
    }

    /// Drops formats that another one found has priority over.
    fn drop_lesser(&self, found: &mut Vec<(u32, Basis, String)>) {
        let formats = &self.signatures.formats;
        let present: Vec<u32> = found.iter().map(|(format, ..)| *format).collect();
        let lesser = |format: u32| present.iter().any(|other| formats[*other as usize].over.contains(&format));
        found.retain(|(format, ..)| !lesser(*format));
        let mut seen = Vec::new();
        found.retain(|(format, ..)| {
            !seen.contains(format) && {
                seen.push(*format);
                true
            }
        });
    }

    fn conclude(
        &self,
        found: Vec<(u32, Basis, String)>,
        view: &View<'_>,
        extension: Option<&str>,
        mime: Option<&str>,
        wrapped: bool,
    ) -> Identification<'_> {
        let formats = &self.signatures.formats;
        let by_extension =
            extension.and_then(|extension| self.by_extension.get(extension)).map_or(&[][..], Vec::as_slice);
        let mut warning = None;
        if view.size() == 0 {
            add(&mut warning, "empty file");
        }
        let mut matches: Vec<Match<'_>> = Vec::new();
        let mut mismatch = false;
        if !found.is_empty() {
            let fits = |format: u32| by_extension.contains(&format);
            let none_fits = !found.iter().any(|(format, ..)| fits(*format));
            let has_endings = found.iter().any(|(format, ..)| !formats[*format as usize].extensions.is_empty());
            mismatch = none_fits && extension.is_some() && has_endings;
            let mut found = found;
            // What the name agrees with comes first; otherwise the order of the signature file stands.
            found.sort_by_key(|(format, ..)| !fits(*format));
            if found.len() > 1 && fits(found[0].0) == fits(found[1].0) {
                add(&mut warning, &format!("ambiguous: {} formats fit equally", found.len()));
            }
            for (format, by, basis) in found {
                let basis = match extension.filter(|_| fits(format)) {
                    Some(extension) => format!("{basis}; extension match {extension}"),
                    None => basis,
                };
                matches.push(Match { format: &formats[format as usize], by, basis });
            }
            if mismatch {
                add(&mut warning, "extension mismatch");
            }
            // A container whose kind no signature tells: the formats of this ending that have no signature remain possible. DROID names
            // the container alone.
            if wrapped {
                let unsigned = by_extension.iter().copied().filter(|format| !formats[*format as usize].signed);
                let unsigned: Vec<Match<'_>> = unsigned.map(|format| self.named(format, extension)).collect();
                match unsigned.len() {
                    0 => {}
                    // Where it can only be one, that one is likelier than a bare container with such a name.
                    1 => {
                        mismatch = false;
                        warning =
                            Some("match on extension only, in a container that fits no container signature".to_owned());
                        matches.splice(0..0, unsigned);
                    }
                    _ => {
                        add(&mut warning, "no container signature fits; the alternatives are told by extension only");
                        matches.extend(unsigned);
                    }
                }
            }
            return Identification { matches, mismatch, warning, trouble: None };
        }
        if !by_extension.is_empty() {
            let mut listed = by_extension.to_vec();
            // A format with a signature would have been told by it.
            listed.sort_by_key(|format| formats[*format as usize].signed);
            if view.size() > 0 {
                add(&mut warning, "match on extension only");
            }
            if listed.len() > 1 {
                add(&mut warning, &format!("ambiguous: {} formats have this extension", listed.len()));
            }
            matches.extend(listed.into_iter().map(|format| self.named(format, extension)));
            return Identification { matches, mismatch, warning, trouble: None };
        }
        if let Some(encoding) = details::text_encoding(view)
            && let Some(format) = self.format("x-fmt/111")
        {
            matches.push(Match { format, by: Basis::Text, basis: format!("text match {encoding}") });
            mismatch = extension.is_some() && !format.extensions.is_empty();
            if mismatch {
                add(&mut warning, "extension mismatch");
            }
        } else if let Some(mime) = mime
            && let Some(listed) = self.by_mime.get(&mime.to_lowercase())
        {
            add(&mut warning, "match on the declared media type only");
            if listed.len() > 1 {
                add(&mut warning, &format!("ambiguous: {} formats have this media type", listed.len()));
            }
            matches.extend(listed.iter().map(|format| Match {
                format: &formats[*format as usize],
                by: Basis::Mime,
                basis: format!("media type match {mime}"),
            }));
        } else if view.size() > 0 {
            add(&mut warning, "no match");
        }
        Identification { matches, mismatch, warning, trouble: None }
    }

    fn named(&self, format: u32, extension: Option<&str>) -> Match<'_> {
        let format = &self.signatures.formats[format as usize];
        Match { format, by: Basis::Extension, basis: format!("extension match {}", extension.unwrap_or_default()) }
    }
}

fn add(warning: &mut Option<String>, text: &str) {
    match warning {
        Some(warning) => {
            warning.push_str("; ");
            warning.push_str(text);
        }
        None => *warning = Some(text.to_owned()),
    }
}

/// The ending of a name, in small letters.
pub fn extension(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let (_, extension) = name.rsplit_once('.')?;
    (!extension.is_empty()).then(|| extension.to_lowercase())
}

/// Takes the container signatures of another release over, for the formats that both know.
fn borrow_containers(signatures: &mut Signatures, from: &Signatures) {
    let by_puid: HashMap<String, u32> =
        signatures.formats.iter().zip(0..).map(|(format, index)| (format.puid.clone(), index)).collect();
    let here = |format: &u32| by_puid.get(&from.formats[*format as usize].puid).copied();
    signatures.container_version.clone_from(&from.container_version);
    signatures.triggers = from.triggers.iter().filter_map(|(kind, format)| Some((*kind, here(format)?))).collect();
    for signature in &from.containers {
        let formats: Vec<u32> = signature.formats.iter().filter_map(here).collect();
        if formats.is_empty() {
            continue;
        }
        for format in &formats {
            signatures.formats[*format as usize].signed = true;
        }
        signatures.containers.push(model::ContainerSignature { formats, ..signature.clone() });
    }
}
