//! What format some bytes are in, as the readers need to know it: by PRONOM's signatures where they fit, and for damaged or unusual files by a few
//! bytes or the name.
//!
//! `pronom` says all that can be known of a format; here it becomes one answer with one media type. Archives and catalogues want that
//! whole answer, readers want to know which of them is asked.

use serde::{Deserialize, Serialize};

use crate::pronom::{Basis, Entry, Hints, Identifier, Scan};
use crate::text;

/// A file format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Its identifier in PRONOM, where it is known.
    pub puid: Option<String>,
    /// Its media type.
    pub mime: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// What told it: `signature`, `container` (what is inside it), `content` (the text was read and makes sense), `extension` or `none`.
    pub basis: String,
}

impl Format {
    fn new(puid: Option<&str>, mime: &str, name: &str, version: Option<&str>, basis: &str) -> Self {
        let owned = |text: &str| text.to_owned();
        Format {
            puid: puid.map(owned),
            mime: owned(mime),
            name: owned(name),
            version: version.map(owned),
            basis: owned(basis),
        }
    }
}

/// Fixed bytes at the start of a file whose rest is missing or damaged; PRONOM asks for more. Containers come here as what they are on the outside.
const SIGNATURES: &[(&[u8], Option<&str>, &str, &str)] = &[
    (b"PK\x03\x04", Some("x-fmt/263"), "application/zip", "ZIP Format"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Some("fmt/111"),
        "application/x-ole-storage",
        "OLE2 Compound Document Format",
    ),
    (b"\xff\xd8\xff", None, "image/jpeg", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", None, "image/png", "Portable Network Graphics"),
    (b"GIF8", None, "image/gif", "Graphics Interchange Format"),
    (b"{\\rtf", None, "application/rtf", "Rich Text Format"),
    (b"%!PS", None, "application/postscript", "PostScript"),
];

/// What a name's ending says, where the bytes say nothing.
const EXTENSIONS: &[(&str, &str, &str)] = &[
    ("pdf", "application/pdf", "Portable Document Format"),
    ("doc", "application/msword", "Microsoft Word Document"),
    ("ppt", "application/vnd.ms-powerpoint", "Microsoft Powerpoint Presentation"),
    ("xls", "application/vnd.ms-excel", "Microsoft Excel Workbook"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "Microsoft Word for Windows"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "Microsoft Powerpoint for Windows",
    ),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "Microsoft Excel for Windows"),
    ("odt", "application/vnd.oasis.opendocument.text", "OpenDocument Text"),
    ("odp", "application/vnd.oasis.opendocument.presentation", "OpenDocument Presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet", "OpenDocument Spreadsheet"),
    ("epub", "application/epub+zip", "ePub format"),
    ("rtf", "application/rtf", "Rich Text Format"),
    ("html", "text/html", "Hypertext Markup Language"),
    ("htm", "text/html", "Hypertext Markup Language"),
    ("md", "text/markdown", "Markdown"),
    ("markdown", "text/markdown", "Markdown"),
    ("txt", "text/plain", "Plain Text File"),
    ("jpg", "image/jpeg", "JPEG"),
    ("jpeg", "image/jpeg", "JPEG"),
    ("png", "image/png", "Portable Network Graphics"),
];

/// PRONOM's identifiers of the versions of PDF.
const PDF_PUIDS: &[(&str, &str)] = &[
    ("1.0", "fmt/14"),
    ("1.1", "fmt/15"),
    ("1.2", "fmt/16"),
    ("1.3", "fmt/17"),
    ("1.4", "fmt/18"),
    ("1.5", "fmt/19"),
    ("1.6", "fmt/20"),
    ("1.7", "fmt/276"),
    ("2.0", "fmt/1129"),
];

/// How many bytes of a file are looked at that bears no whole signature.
const LOOKED_AT: usize = 4096;

/// Media types of formats for which PRONOM has none, by the first ending of their names.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("webp", "image/webp"),
    ("wps", "application/vnd.ms-works"),
    ("wpd", "application/vnd.wordperfect"),
    ("sdw", "application/vnd.stardivision.writer"),
    ("sdc", "application/vnd.stardivision.calc"),
    ("sdd", "application/vnd.stardivision.impress"),
    ("vsd", "application/vnd.visio"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("7z", "application/x-7z-compressed"),
    ("m4a", "audio/mp4"),
    ("aif", "audio/aiff"),
    ("exe", "application/vnd.microsoft.portable-executable"),
];

/// Name the format of a file, from its name and its bytes, all of them or as many as there are.
///
/// ```
/// let format = zhulu_document::identify("论文.pdf", b"%PDF-1.7\n");
/// assert_eq!((format.mime.as_str(), format.version.as_deref()), ("application/pdf", Some("1.7")));
/// ```
pub fn identify(name: &str, bytes: &[u8]) -> Format {
    let identifier = Identifier::built_in();
    let identification = identifier.identify(&bytes, Hints { name, mime: None }, Scan::default());
    let first = identification.matches.first();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).unwrap_or_default();
    if let Some(first) = first.filter(|first| matches!(first.by, Basis::Signature | Basis::Container)) {
        let basis = if first.by == Basis::Container { "container" } else { "signature" };
        let format = of_entry(first.format, basis);
        // What is inside a container that no signature tells is told by the name.
        return by_name_inside(&format.mime, &extension).unwrap_or(format);
    }
    let unnamed = by_few_bytes(&extension, &bytes[..bytes.len().min(LOOKED_AT)]);
    match first {
        // PRONOM knows many more names than the readers do.
        Some(first) if unnamed.basis == "none" => of_entry(first.format, "extension"),
        Some(first) if unnamed.basis == "content" && first.format.mime.starts_with("text/") && extension != "txt" => {
            of_entry(first.format, "extension")
        }
        _ => unnamed,
    }
}

fn of_entry(entry: &Entry, basis: &str) -> Format {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mime = entry.mime.split(',').next().map(str::trim).filter(|mime| !mime.is_empty());
    let by_ending = || {
        let known = |ending: &&str| entry.extensions.iter().any(|extension| extension == *ending);
        MEDIA_TYPES.iter().find(|(ending, _)| known(ending)).map(|(_, mime)| *mime)
    };
    let mime = match entry.puid.as_str() {
        "fmt/111" => "application/x-ole-storage",
        "fmt/189" => "application/zip",
        _ => mime.or_else(by_ending).unwrap_or("application/octet-stream"),
    };
    Format {
        puid: Some(entry.puid.clone()),
        mime: mime.to_owned(),
        name: entry.name.clone(),
        version: some(&entry.version),
        basis: basis.to_owned(),
    }
}

/// What the name says of a container of this media type.
fn by_name_inside(mime: &str, extension: &str) -> Option<Format> {
    let endings: &[&str] = match mime {
        "application/zip" => &["docx", "pptx", "xlsx", "odt", "odp", "ods", "epub"],
        "application/x-ole-storage" => &["doc", "ppt", "xls"],
        _ => return None,
    };
    let (_, mime, name) = EXTENSIONS.iter().find(|(ending, ..)| *ending == extension && endings.contains(ending))?;
    Some(Format::new(None, mime, name, None, "extension"))
}

/// The format of a file that bears no whole signature, by what is left of it and its name's ending.
fn by_few_bytes(extension: &str, head: &[u8]) -> Format {
    // Readers allow a kilobyte of junk before the header, as Acrobat does.
    let looked = &head[..head.len().min(1024)];
    if let Some(start) = memchr::memmem::find(looked, b"%PDF-") {
        let version = looked.get(start + 5..start + 8).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let known = PDF_PUIDS.iter().find(|(number, _)| Some(*number) == version);
        let (version, puid) = (known.map(|(number, _)| *number), known.map(|(_, puid)| *puid));
        return Format::new(puid, "application/pdf", "Portable Document Format", version, "signature");
    }
    let by_extension = EXTENSIONS.iter().find(|(ending, ..)| *ending == extension);
    if let Some((_, puid, mime, name)) = SIGNATURES.iter().find(|(bytes, ..)| head.starts_with(bytes)) {
        return by_name_inside(mime, extension).unwrap_or_else(|| Format::new(*puid, mime, name, None, "signature"));
    }
    if let Some(decoded) = text::decode_head(head) {
        let start = decoded
            .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n'])
            .get(..64)
            .unwrap_or(&decoded)
            .to_lowercase();
        if start.starts_with("<!doctype html") || start.starts_with("<html") {
            return Format::new(None, "text/html", "Hypertext Markup Language", None, "signature");
        }
        return match by_extension.filter(|(_, mime, _)| mime.starts_with("text/")) {
            Some((_, "text/plain", _)) | None => {
                Format::new(Some("x-fmt/111"), "text/plain", "Plain Text File", None, "content")
            }
            Some((_, mime, name)) => Format::new(None, mime, name, None, "extension"),
        };
    }
    match by_extension {
        Some((_, mime, name)) => Format::new(None, mime, name, None, "extension"),
        None => Format::new(None, "application/octet-stream", "unknown", None, "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mime(name: &str, head: &[u8]) -> String {
        identify(name, head).mime
    }

    #[test]
    fn bytes_outrank_names() {
        assert_eq!(mime("a.txt", b"junk\n%PDF-1.4\n"), "application/pdf");
        assert_eq!(identify("a", b"%PDF-1.4\n").puid.as_deref(), Some("fmt/18"));
        assert_eq!(identify("a", b"%PDF-9.9\n").version, None);
        assert_eq!(mime("a.pdf", b"\x89PNG\r\n\x1a\n"), "image/png");
        assert_eq!(mime("a.pdf", b"<!DOCTYPE html><title>Sign in</title>"), "text/html");
        assert_eq!(
            mime("a.docx", b"PK\x03\x04"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        );
        assert_eq!(mime("a.xyz", b"PK\x03\x04"), "application/zip");
        let whole = identify("a.pdf", b"%PDF-1.4\n1 0 obj\nendobj\n%%EOF\n");
        assert_eq!(
            (whole.puid.as_deref(), whole.name.as_str()),
            (Some("fmt/18"), "Acrobat PDF 1.4 - Portable Document Format")
        );
    }

    #[test]
    fn text_is_told_by_reading_it() {
        assert_eq!(mime("说明", "纯文本".as_bytes()), "text/plain");
        let (gbk, ..) = encoding_rs::GB18030.encode("这是一份用国标编码写成的说明文件，没有任何标记。");
        assert_eq!(mime("说明.txt", &gbk), "text/plain");
        assert_eq!(mime("a.md", b"# Title\n"), "text/markdown");
        assert_eq!(mime("a.csv", b"a,b\n1,2\n"), "text/csv");
        assert_eq!(identify("a.djvu", b"\0\x01").puid.as_deref(), Some("fmt/255"));
        assert_eq!(mime("a.bin", &[0, 1, 2, 3, 255, 254]), "application/octet-stream");
        assert_eq!(mime("a.pdf", &[0, 1, 2, 3]), "application/pdf", "the name is all there is");
        assert_eq!(mime("", b""), "application/octet-stream");
    }
}
