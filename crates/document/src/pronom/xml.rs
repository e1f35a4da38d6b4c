//! DROID's signature files and container signature files, as The National Archives publish them.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::expression;
use super::model::{
    Container, ContainerSignature, Entry, Fragment, Group, Inner, Origin, Part, Sequence, Signature, Signatures,
};

/// The largest signature file that is read; PRONOM's is a tenth of it.
const MOST_BYTES: usize = 64 << 20;

/// The deepest nesting; DROID's files have nine levels.
const DEEPEST: usize = 32;

/// Why a signature file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not XML, or breaks off.
    #[error("the {file} is damaged near byte {at}: {reason}")]
    Xml {
        /// Which of the two.
        file: &'static str,
        /// Where.
        at: u64,
        /// What the XML reader says.
        reason: String,
    },
    /// It is XML of another kind.
    #[error("this is no {file}: it has no <{root}>")]
    Kind {
        /// What it should be.
        file: &'static str,
        /// What it lacks.
        root: &'static str,
    },
    /// It is longer than anything PRONOM has published.
    #[error("the {file} is larger than {} MB; it is not read", MOST_BYTES >> 20)]
    Size {
        /// Which of the two.
        file: &'static str,
    },
    /// A signature that cannot be understood.
    #[error("signature {signature} of the {file} cannot be understood: {reason}")]
    Signature {
        /// Which of the two.
        file: &'static str,
        /// The signature's number.
        signature: String,
        /// What is wrong with it.
        reason: String,
    },
}

const BINARY: &str = "signature file";
const CONTAINERS: &str = "container signature file";

/// Read a signature file.
pub(crate) fn read(signatures: &[u8]) -> Result<Signatures, Error> {
    let mut binary = Walk::new(BINARY);
    binary.all(signatures)?;
    if !binary.is_binary {
        return Err(Error::Kind { file: BINARY, root: "FFSignatureFile" });
    }
    let mut result = Signatures { version: binary.version, created: binary.created, ..Signatures::default() };
    let by_number: HashMap<&str, u32> =
        binary.formats.iter().zip(0..).map(|(format, index)| (format.number.as_str(), index)).collect();
    let mut told: HashMap<&str, Vec<u32>> = HashMap::new();
    for (format, index) in binary.formats.iter().zip(0..) {
        for signature in &format.signatures {
            told.entry(signature).or_default().push(index);
        }
        let mut entry = format.entry.clone();
        entry.over = format.over.iter().filter_map(|number| by_number.get(number.as_str()).copied()).collect();
        result.formats.push(entry);
    }
    for (id, sequences) in binary.signatures {
        let formats = told.get(id.as_str()).cloned().unwrap_or_default();
        // A signature that no format claims is one that PRONOM has withdrawn.
        if formats.is_empty() || sequences.is_empty() {
            continue;
        }
        for format in &formats {
            result.formats[*format as usize].signed = true;
        }
        result.signatures.push(Signature { formats, sequences });
    }
    Ok(result)
}

/// Read a container signature file for the formats that a signature file has; container signatures that were there before make way.
pub(crate) fn read_containers(result: &mut Signatures, containers: &[u8]) -> Result<(), Error> {
    let mut walk = Walk::new(CONTAINERS);
    walk.all(containers)?;
    if !walk.is_container {
        return Err(Error::Kind { file: CONTAINERS, root: "ContainerSignatureMapping" });
    }
    result.drop_containers();
    result.container_version = walk.version;
    let by_puid: HashMap<String, u32> =
        result.formats.iter().zip(0..).map(|(format, index)| (format.puid.clone(), index)).collect();
    for (kind, puid) in &walk.triggers {
        result.triggers.extend(by_puid.get(puid).map(|format| (*kind, *format)));
    }
    for (id, container, files) in walk.containers {
        let claimed = walk.mappings.iter().filter(|(signature, _)| *signature == id);
        // A format that the signature file does not know yet cannot be named.
        let formats: Vec<u32> = claimed.filter_map(|(_, puid)| by_puid.get(puid).copied()).collect();
        if formats.is_empty() || files.is_empty() {
            continue;
        }
        for format in &formats {
            result.formats[*format as usize].signed = true;
        }
        result.containers.push(ContainerSignature { container, formats, files });
    }
    Ok(())
}

/// A format as the file has it: others are named by their numbers.
#[derive(Default)]
struct Format {
    number: String,
    entry: Entry,
    signatures: Vec<String>,
    over: Vec<String>,
}

/// A part under construction.
#[derive(Default)]
struct Open {
    min: u32,
    max: Option<u32>,
    text: String,
    left: Vec<(u32, Fragment)>,
    right: Vec<(u32, Fragment)>,
}

/// What is gathered on the way through a file.
struct Walk {
    file: &'static str,
    is_binary: bool,
    is_container: bool,
    version: String,
    created: String,
    formats: Vec<Format>,
    signatures: Vec<(String, Vec<Sequence>)>,
    containers: Vec<(String, Container, Vec<Inner>)>,
    mappings: Vec<(String, String)>,
    triggers: Vec<(Container, String)>,
    // Where the walk is.
    signature: String,
    in_file: bool,
    sequence: Option<Sequence>,
    part: Option<Open>,
    place: (u32, u32, u32),
    text: String,
}

impl Walk {
    fn new(file: &'static str) -> Self {
        Walk {
            file,
            is_binary: false,
            is_container: false,
            version: String::new(),
            created: String::new(),
            formats: Vec::new(),
            signatures: Vec::new(),
            containers: Vec::new(),
            mappings: Vec::new(),
            triggers: Vec::new(),
            signature: String::new(),
            in_file: false,
            sequence: None,
            part: None,
            place: (0, 0, 0),
            text: String::new(),
        }
    }

    fn all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let file = self.file;
        if bytes.len() > MOST_BYTES {
            return Err(Error::Size { file });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| Error::Xml {
            file,
            at: error.valid_up_to() as u64,
            reason: "it is not UTF-8".to_owned(),
        })?;
        let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
        reader.config_mut().expand_empty_elements = true;
        let mut depth = 0usize;
        loop {
            let event = reader.read_event();
            let at = reader.buffer_position();
            let broken = |reason: String| Error::Xml { file, at, reason };
            match event.map_err(|error| broken(error.to_string()))? {
                Event::Start(start) => {
                    depth += 1;
                    if depth > DEEPEST {
                        return Err(broken(format!("its elements are nested more than {DEEPEST} deep")));
                    }
                    self.text.clear();
                    self.start(&start)?;
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    self.end(end.local_name().into_inner())?;
                    self.text.clear();
                }
                Event::Text(text) => self.text.push_str(&text.xml10_content()),
                Event::CData(text) => self.text.push_str(&text.xml10_content()),
                Event::GeneralRef(name) => match reference(&name) {
                    Some(c) => self.text.push(c),
                    None => return Err(broken(format!("&{};, which this file may not define", &*name))),
                },
                // Entities are never expanded, so a signature file has no use for a document type.
                Event::DocType(_) => {
                    return Err(broken("it has a document type, and no signature file needs one".to_owned()));
                }
                Event::Eof if depth > 0 => return Err(broken("it breaks off".to_owned())),
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Error> {
        let get = |name: &str| attribute(start, name);
        let number = |name: &str| get(name).and_then(|text| text.trim().parse::<u32>().ok());
        match start.local_name().into_inner() {
            "FFSignatureFile" => {
                self.is_binary = true;
                self.version = get("Version").unwrap_or_default();
                self.created = get("DateCreated").unwrap_or_default();
            }
            "ContainerSignatureMapping" => {
                self.is_container = true;
                self.version = get("signatureVersion").or_else(|| get("SignatureVersion")).unwrap_or_default();
            }
            "InternalSignature" => {
                let id = get("ID").unwrap_or_default();
                if let Some(inner) = self.inner() {
                    inner.signatures.push(Vec::new());
                } else if !self.is_container {
                    self.signature.clone_from(&id);
                    self.signatures.push((id, Vec::new()));
                }
            }
            "ByteSequence" => {
                let origin = match get("Reference").as_deref() {
                    Some("BOFoffset") => Origin::Start,
                    Some("EOFoffset") => Origin::End,
                    _ => Origin::Anywhere,
                };
                let parts = match get("Sequence") {
                    Some(text) => self.parse(&text)?,
                    None => Vec::new(),
                };
                self.sequence = Some(Sequence { origin, parts });
            }
            "SubSequence" => {
                self.part = Some(Open {
                    min: number("SubSeqMinOffset").unwrap_or(0),
                    max: number("SubSeqMaxOffset"),
                    ..Open::default()
                });
            }
            "LeftFragment" | "RightFragment" => {
                let min = number("MinOffset").unwrap_or(0);
                self.place = (number("Position").unwrap_or(1), min, number("MaxOffset").unwrap_or(min));
            }
            "FileFormat" => {
                let entry = Entry {
                    puid: get("PUID").unwrap_or_default(),
                    name: get("Name").unwrap_or_default(),
                    version: get("Version").unwrap_or_default(),
                    mime: get("MIMEType").unwrap_or_default(),
                    ..Entry::default()
                };
                self.formats.push(Format { number: get("ID").unwrap_or_default(), entry, ..Format::default() });
            }
            "ContainerSignature" => {
                let id = get("Id").unwrap_or_default();
                self.signature.clone_from(&id);
                let container = self.container(get("ContainerType"))?;
                self.containers.push((id, container, Vec::new()));
            }
            "File" => {
                self.in_file = true;
                if let Some((_, _, files)) = self.containers.last_mut() {
                    files.push(Inner { path: String::new(), signatures: Vec::new() });
                }
            }
            "FileFormatMapping" => {
                self.mappings.push((get("signatureId").unwrap_or_default(), get("Puid").unwrap_or_default()));
            }
            "TriggerPuid" => {
                let container = self.container(get("ContainerType"))?;
                self.triggers.push((container, get("Puid").unwrap_or_default()));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Error> {
        match name {
            "Sequence" => {
                if let Some(part) = &mut self.part {
                    part.text = std::mem::take(&mut self.text);
                }
            }
            "LeftFragment" | "RightFragment" => {
                let (position, min, max) = self.place;
                let text = std::mem::take(&mut self.text);
                let parts = self.parse(&text)?;
                // A fragment is one run; what is written with gaps in it belongs into the sequence itself.
                let [part] = parts.as_slice() else { return Err(self.fault("a fragment has a gap of any size")) };
                if !part.left.is_empty() || !part.right.is_empty() {
                    return Err(self.fault("a fragment has a gap"));
                }
                let fragments: Vec<(u32, Fragment)> =
                    part.anchor.iter().map(|one| (position, Fragment::new(min, max, one.elements.clone()))).collect();
                if let Some(open) = &mut self.part {
                    if name == "LeftFragment" { open.left.extend(fragments) } else { open.right.extend(fragments) }
                }
            }
            "SubSequence" => {
                if let Some(open) = self.part.take() {
                    self.close(open)?;
                }
            }
            "ByteSequence" => {
                let Some(sequence) = self.sequence.take() else { return Ok(()) };
                if sequence.parts.is_empty() {
                    return Err(self.fault("a byte sequence is empty"));
                }
                if self.is_container {
                    // Outside a file of a container a sequence belongs to nothing: one of PRONOM's container signatures has such a stray.
                    let Some(inner) = self.inner() else { return Ok(()) };
                    if inner.signatures.is_empty() {
                        inner.signatures.push(Vec::new());
                    }
                    inner.signatures.last_mut().into_iter().for_each(|list| list.push(sequence.clone()));
                } else if let Some((_, list)) = self.signatures.last_mut() {
                    list.push(sequence);
                }
            }
            "Path" => {
                let path = self.text.trim().to_owned();
                if let Some(inner) = self.inner() {
                    inner.path = path;
                }
            }
            "File" => {
                if let Some(inner) = self.inner() {
                    inner.signatures.retain(|sequences| !sequences.is_empty());
                }
                self.in_file = false;
            }
            "InternalSignatureID" | "Extension" | "HasPriorityOverFileFormatID" => {
                let text = self.text.trim().to_owned();
                if let Some(format) = self.formats.last_mut() {
                    match name {
                        "InternalSignatureID" => format.signatures.push(text),
                        "Extension" => format.entry.extensions.push(text.to_lowercase()),
                        _ => format.over.push(text),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The file of a container that is being described.
    fn inner(&mut self) -> Option<&mut Inner> {
        if !self.in_file {
            return None;
        }
        self.containers.last_mut().and_then(|(_, _, files)| files.last_mut())
    }

    /// Puts a finished part into its sequence.
    fn close(&mut self, open: Open) -> Result<(), Error> {
        let mut parts = self.parse(&open.text)?;
        let Some(sequence) = &mut self.sequence else { return Ok(()) };
        let first = sequence.parts.is_empty();
        if let Some(part) = parts.last_mut() {
            part.right.extend(by_position(open.right));
        }
        if let Some(part) = parts.first_mut() {
            part.left.extend(by_position(open.left));
            // Without a greatest offset the first part of an anchored sequence lies at its origin, and every other part anywhere further on.
            let anchored = first && sequence.origin != Origin::Anywhere;
            let max = open.max.or(anchored.then_some(open.min)).filter(|_| !first || anchored);
            part.max = match (max, part.max) {
                (Some(max), Some(more)) => Some(max.max(open.min).saturating_add(more)),
                _ => None,
            };
            part.min = part.min.saturating_add(open.min);
        }
        sequence.parts.append(&mut parts);
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Vec<Part>, Error> {
        expression::parse(text).map_err(|reason| {
            let shown: String = text.trim().chars().take(60).collect();
            self.fault(&format!("in {shown:?}, {reason}"))
        })
    }

    fn container(&self, kind: Option<String>) -> Result<Container, Error> {
        match kind.as_deref() {
            Some("OLE2") => Ok(Container::Ole2),
            Some("ZIP") => Ok(Container::Zip),
            other => Err(self.fault(&format!("{:?} is no kind of container", other.unwrap_or_default()))),
        }
    }

    fn fault(&self, reason: &str) -> Error {
        Error::Signature { file: self.file, signature: self.signature.clone(), reason: reason.to_owned() }
    }
}

/// Fragments of one position are alternatives; positions are counted from the anchor outwards.
fn by_position(mut fragments: Vec<(u32, Fragment)>) -> Vec<Group> {
    fragments.sort_by_key(|(position, _)| *position);
    let same = |a: &(u32, Fragment), b: &(u32, Fragment)| a.0 == b.0;
    fragments.chunk_by(same).map(|group| group.iter().map(|(_, fragment)| fragment.clone()).collect()).collect()
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

/// The value of an attribute, with the references of XML replaced.
fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|attribute| attribute.key.local_name().into_inner() == name)?;
    let mut text = String::new();
    let mut rest: &str = &found.value;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        match after.split_once(';').and_then(|(name, after)| Some((reference(name)?, after))) {
            Some((c, after)) => {
                text.push(c);
                rest = after;
            }
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    Some(text)
}
