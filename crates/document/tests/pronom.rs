//! PRONOM's rules on files made up for each construct, on hostile input, and on a file too long to read.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken test")]

use std::cell::Cell;
use std::io;

use proptest::prelude::*;
use zhulu_document::pronom::{Basis, Hints, Identification, Identifier, Scan, Source};

/// A signature file with one format per body, in the order given: `test/1`, `test/2`, …
fn signature_file(bodies: &[(&str, &str)]) -> String {
    let mut signatures = String::new();
    let mut formats = String::new();
    for ((body, more), number) in bodies.iter().zip(1..) {
        if !body.is_empty() {
            signatures.push_str(&format!(
                "<InternalSignature ID=\"{number}\" Specificity=\"Specific\">{body}</InternalSignature>"
            ));
        }
        let claims = if body.is_empty() {
            String::new()
        } else {
            format!("<InternalSignatureID>{number}</InternalSignatureID>")
        };
        formats.push_str(&format!(
            "<FileFormat ID=\"{number}\" Name=\"格式 {number}\" PUID=\"test/{number}\" Version=\"{number}.0\" MIMEType=\"x/y{number}\">{claims}{more}</FileFormat>"
        ));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><FFSignatureFile DateCreated=\"2026-01-01T00:00:00\" Version=\"7\" \
         xmlns=\"http://www.nationalarchives.gov.uk/pronom/SignatureFile\"><InternalSignatureCollection>{signatures}\
         </InternalSignatureCollection><FileFormatCollection>{formats}</FileFormatCollection></FFSignatureFile>"
    )
}

fn identifier(bodies: &[(&str, &str)]) -> Identifier {
    Identifier::from_xml(Some(signature_file(bodies).as_bytes()), None).unwrap()
}

fn sequence(origin: &str, min: u32, max: &str, inside: &str) -> String {
    let reference = if origin.is_empty() { String::new() } else { format!(" Reference=\"{origin}\"") };
    let max = if max.is_empty() { String::new() } else { format!(" SubSeqMaxOffset=\"{max}\"") };
    format!(
        "<ByteSequence{reference}><SubSequence Position=\"1\" SubSeqMinOffset=\"{min}\"{max}>{inside}</SubSequence></ByteSequence>"
    )
}

fn look<'a>(identifier: &'a Identifier, name: &str, bytes: &[u8]) -> Identification<'a> {
    identifier.identify(&bytes, Hints { name, mime: None }, Scan::default())
}

fn puids(identification: &Identification<'_>) -> Vec<String> {
    identification.matches.iter().map(|one| one.format.puid.clone()).collect()
}

/// Whether the one signature fits the bytes.
fn fits(body: &str, bytes: &[u8]) -> bool {
    let identifier = identifier(&[(body, "")]);
    look(&identifier, "", bytes).by() == Basis::Signature
}

#[test]
fn offsets_from_the_beginning_and_the_end() {
    let exact = sequence("BOFoffset", 2, "2", "<Sequence>41424344</Sequence>");
    assert!(fits(&exact, b"..ABCD"));
    assert!(!fits(&exact, b".ABCD") && !fits(&exact, b"...ABCD") && !fits(&exact, b"..ABC"));
    let range = sequence("BOFoffset", 1, "4", "<Sequence>41424344</Sequence>");
    assert!(fits(&range, b".ABCD") && fits(&range, b"....ABCD"));
    assert!(!fits(&range, b"ABCD") && !fits(&range, b".....ABCD"));
    let end = sequence("EOFoffset", 0, "4", "<Sequence>3B</Sequence>");
    assert!(fits(&end, b"x;") && fits(&end, b"x;...."));
    assert!(!fits(&end, b"x;....."));
    let end = sequence("EOFoffset", 3, "3", "<Sequence>4142</Sequence>");
    assert!(fits(&end, b"....AB...") && !fits(&end, b"....AB..") && !fits(&end, b"AB"));
    let unsaid = "<ByteSequence Reference=\"BOFoffset\"><SubSequence Position=\"1\"><Sequence>4142</Sequence></SubSequence></ByteSequence>";
    assert!(fits(unsaid, b"AB") && !fits(unsaid, b".AB"), "without offsets it lies at the beginning");
}

#[test]
fn what_may_lie_anywhere_and_gaps_of_any_size() {
    let anywhere = sequence("", 0, "", "<Sequence>41424344</Sequence>");
    assert!(fits(&anywhere, b"ABCD") && fits(&anywhere, &[&[0; 30_000][..], b"ABCD"].concat()));
    let long = [&vec![0; 1_000_000][..], b"ABCD"].concat();
    assert!(fits(&anywhere, &long), "near the end counts too");
    let deep = [&vec![0; 500_000][..], b"ABCD", &vec![0; 500_000]].concat();
    assert!(!fits(&anywhere, &deep), "the middle of a long file is not searched");
    let anywhere_format = identifier(&[(&anywhere, "")]);
    let found = anywhere_format.identify(&deep.as_slice(), Hints::default(), Scan::Whole);
    assert_eq!(found.matches[0].basis, "byte match at 500000, 4");
    let two = "<ByteSequence Reference=\"BOFoffset\"><SubSequence Position=\"1\" SubSeqMinOffset=\"0\" SubSeqMaxOffset=\"0\"><Sequence>4142</Sequence></SubSequence>\
               <SubSequence Position=\"2\" SubSeqMinOffset=\"3\"><Sequence>4344</Sequence></SubSequence></ByteSequence>";
    assert!(fits(two, b"AB...CD") && fits(two, b"AB..........CD"));
    assert!(!fits(two, b"AB..CD") && !fits(two, b"CD...AB"));
}

#[test]
fn fragments_left_and_right() {
    let body = sequence(
        "BOFoffset",
        0,
        "0",
        "<Sequence>424242</Sequence>\
         <LeftFragment Position=\"1\" MinOffset=\"1\" MaxOffset=\"3\">41</LeftFragment>\
         <RightFragment Position=\"1\" MinOffset=\"0\" MaxOffset=\"2\">43</RightFragment>\
         <RightFragment Position=\"1\" MinOffset=\"0\" MaxOffset=\"2\">4444</RightFragment>\
         <RightFragment Position=\"2\" MinOffset=\"1\" MaxOffset=\"1\">45</RightFragment>",
    );
    for bytes in [&b"A.BBBC.E"[..], b"A...BBB..DD.E", b"A.BBB.C.E"] {
        assert!(fits(&body, bytes), "{}", String::from_utf8_lossy(bytes));
    }
    for bytes in [&b"ABBBC.E"[..], b"A....BBBC.E", b"A.BBB...C.E", b"A.BBBCE", b".A.BBBC.E", b"A.BBBX.E"] {
        assert!(!fits(&body, bytes), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_notation_in_full() {
    let at_start = |text: &str| sequence("BOFoffset", 0, "0", &format!("<Sequence>{text}</Sequence>"));
    assert!(fits(&at_start("41??43"), b"AxC") && !fits(&at_start("41??43"), b"AC"));
    assert!(fits(&at_start("41{2}43"), b"AxxC") && !fits(&at_start("41{2}43"), b"AxC"));
    assert!(fits(&at_start("41{0-2}43"), b"AC") && !fits(&at_start("41{0-2}43"), b"AxxxC"));
    assert!(fits(&at_start("41*43"), b"A.......C"));
    assert!(fits(&at_start("41{2-*}43"), b"A..C") && !fits(&at_start("41{2-*}43"), b"A.C"));
    assert!(fits(&at_start("41[30:39]"), b"A7") && !fits(&at_start("41[30:39]"), b"Ax"));
    assert!(fits(&at_start("41[!30]"), b"A7") && !fits(&at_start("41[!30]"), b"A0"));
    assert!(
        fits(&at_start("(4142|43)44"), b"ABD")
            && fits(&at_start("(4142|43)44"), b"CD")
            && !fits(&at_start("(4142|43)44"), b"AD")
    );
    assert!(fits(&at_start("'目录' 0A"), "目录\n".as_bytes()));
}

#[test]
fn every_sequence_of_a_signature_is_needed() {
    let both = sequence("BOFoffset", 0, "0", "<Sequence>4142</Sequence>")
        + &sequence("EOFoffset", 0, "0", "<Sequence>595A</Sequence>");
    assert!(fits(&both, b"AB...YZ") && !fits(&both, b"AB...") && !fits(&both, b"...YZ"));
}

#[test]
fn priorities_extensions_and_warnings() {
    let start = sequence("BOFoffset", 0, "0", "<Sequence>4142</Sequence>");
    let longer = sequence("BOFoffset", 0, "0", "<Sequence>41424344</Sequence>");
    let identifier = identifier(&[
        (&start, "<Extension>aa</Extension>"),
        (&longer, "<Extension>bb</Extension><HasPriorityOverFileFormatID>1</HasPriorityOverFileFormatID>"),
        (&longer, "<Extension>cc</Extension><HasPriorityOverFileFormatID>1</HasPriorityOverFileFormatID>"),
        ("", "<Extension>DD</Extension>"),
        ("", "<Extension>dd</Extension>"),
    ]);
    let one = look(&identifier, "文件.aa", b"ABxx");
    assert_eq!((puids(&one), one.warning.as_deref(), one.mismatch), (vec!["test/1".to_owned()], None, false));
    assert_eq!(one.matches[0].basis, "byte match at 0, 2; extension match aa");
    let two = look(&identifier, "文件", b"ABCD");
    assert_eq!(puids(&two), ["test/2", "test/3"]);
    assert_eq!(two.warning.as_deref(), Some("ambiguous: 2 formats fit equally"));
    let named = look(&identifier, "x.CC", b"ABCD");
    assert_eq!((puids(&named)[0].as_str(), named.warning.as_deref()), ("test/3", None));
    let wrong = look(&identifier, "x.zz", b"ABxx");
    assert!(wrong.mismatch && wrong.warning.as_deref() == Some("extension mismatch"));
    let by_name = look(&identifier, "dir.aa/x.dd", b"\x00\x01");
    assert_eq!((puids(&by_name).len(), by_name.by()), (2, Basis::Extension));
    assert_eq!(by_name.warning.as_deref(), Some("match on extension only; ambiguous: 2 formats have this extension"));
    let empty = look(&identifier, "x.aa", b"");
    assert_eq!((empty.by(), empty.warning.as_deref()), (Basis::Extension, Some("empty file")));
    let none = look(&identifier, "x", b"\x00\x01");
    assert!(none.matches.is_empty() && none.warning.as_deref() == Some("no match"));
    let declared =
        identifier.identify(&b"\x00\x01".as_slice(), Hints { name: "x", mime: Some("X/Y4") }, Scan::default());
    assert_eq!((puids(&declared), declared.by()), (vec!["test/4".to_owned()], Basis::Mime));
}

/// An archive with stored entries, built by hand.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let offset = (bytes.len() as u32).to_le_bytes();
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend([b"PK\x03\x04".as_slice(), &common, name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\x00".as_slice(), &common, &[0; 10], &offset, name.as_bytes()].concat());
    }
    let (start, length, count) = (
        (bytes.len() as u32).to_le_bytes(),
        (directory.len() as u32).to_le_bytes(),
        (entries.len() as u16).to_le_bytes(),
    );
    bytes.extend([&directory, b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &length, &start, &[0, 0]].concat());
    bytes
}

#[test]
fn containers_are_looked_into() {
    let built_in = Identifier::built_in();
    let epub = zip(&[("mimetype", b"application/epub+zip"), ("META-INF/container.xml", b"<container/>")]);
    let found = look(built_in, "小说.epub", &epub);
    assert_eq!((puids(&found)[0].as_str(), found.by()), ("fmt/483", Basis::Container));
    assert!(found.matches[0].basis.starts_with("container match mimetype at 0, 20"), "{}", found.matches[0].basis);
    let types = b"<Types><Override ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>";
    let docx = zip(&[("[Content_Types].xml", types), ("word/document.xml", b"")]);
    assert_eq!(puids(&look(built_in, "a.docx", &docx)), ["fmt/412"]);
    let plain = look(built_in, "a.zip", &zip(&[("读我.txt", b"hello")]));
    assert_eq!((puids(&plain), plain.warning), (vec!["x-fmt/263".to_owned()], None));
    // A ZIP whose directory lies, or is cut off, is still a file.
    for end in 0..epub.len() {
        look(built_in, "a.epub", &epub[..end]);
    }
}

#[test]
fn the_shipped_signatures_are_whole_and_survive_packing() {
    let built_in = Identifier::built_in();
    let release = built_in.release();
    assert_eq!((release.version.as_str(), release.container_version.as_str()), ("109", "25"));
    assert_eq!(release.counts, (2246, 1940, 180));
    let again = Identifier::from_compact(&built_in.compact()).unwrap();
    assert_eq!(again.compact(), built_in.compact());
    assert_eq!(built_in.format("fmt/18").unwrap().version, "1.4");
    assert!(Identifier::from_compact(b"").is_none());
    let packed = built_in.compact();
    for cut in [0, 10, 19, 20, 1000, packed.len() - 1] {
        assert!(Identifier::from_compact(&packed[..cut]).is_none(), "{cut}");
    }
}

/// A file of 200 GB that counts how much of it is read.
struct Vast {
    read: Cell<u64>,
}

impl Source for Vast {
    fn size(&self) -> u64 {
        200 << 30
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.set(self.read.get() + buffer.len() as u64);
        let head = b"%PDF-1.4\n";
        for (at, byte) in (offset..).zip(buffer.iter_mut()) {
            *byte = usize::try_from(at).ok().and_then(|at| head.get(at)).copied().unwrap_or(b' ');
            if at >= self.size() - 6 {
                *byte = b"%%EOF\n"[(at + 6 - self.size()) as usize];
            }
        }
        Ok(buffer.len())
    }
}

#[test]
fn a_vast_file_costs_its_windows() {
    let vast = Vast { read: Cell::new(0) };
    let (found, _) =
        Identifier::built_in().identify_with_details(&vast, Hints { name: "a.pdf", mime: None }, Scan::default());
    assert_eq!(puids(&found), ["fmt/18"]);
    assert!(vast.read.get() < 2 << 20, "{} bytes were read", vast.read.get());
}

#[test]
fn bytes_made_to_be_slow_are_given_up() {
    let body = sequence(
        "",
        0,
        "",
        "<Sequence>0000</Sequence><RightFragment Position=\"1\" MinOffset=\"0\" MaxOffset=\"999999\">0000</RightFragment>\
         <RightFragment Position=\"2\" MinOffset=\"0\" MaxOffset=\"999999\">0001</RightFragment>",
    );
    let identifier = identifier(&[(&body, "")]);
    let begun = std::time::Instant::now();
    let found = identifier.identify(&vec![0; 4 << 20].as_slice(), Hints::default(), Scan::Whole);
    assert!(begun.elapsed().as_secs() < 20);
    assert!(found.warning.is_some_and(|warning| warning.contains("given up")));
}

#[test]
fn signature_files_that_cannot_be_used_say_why() {
    let says = |bytes: &[u8]| Identifier::from_xml(Some(bytes), None).err().unwrap().to_string();
    assert!(says(b"").contains("no signature file"), "{}", says(b""));
    assert!(says(b"garbage").contains("no signature file"));
    assert!(says(b"\xff\xfe\x00").contains("UTF-8"));
    assert!(says(b"<html></html>").contains("FFSignatureFile"));
    assert!(says(b"<FFSignatureFile><a>").contains("breaks off"));
    let bomb =
        "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><FFSignatureFile>&b;</FFSignatureFile>";
    assert!(says(bomb.as_bytes()).contains("document type"));
    assert!(says(b"<FFSignatureFile>&b;</FFSignatureFile>").contains("&b;"));
    assert!(says("<a>".repeat(100_000).as_bytes()).contains("deep"));
    let wrong = signature_file(&[(&sequence("BOFoffset", 0, "0", "<Sequence>4G</Sequence>"), "")]);
    assert!(says(wrong.as_bytes()).contains("signature 1 of the signature file"), "{}", says(wrong.as_bytes()));
    let container = Identifier::from_xml(None, Some(b"<ContainerSignatureMapping><ContainerSignatures><ContainerSignature Id=\"5\" ContainerType=\"RAR\"/></ContainerSignatures></ContainerSignatureMapping>"));
    assert!(container.err().unwrap().to_string().contains("RAR"));
}

#[test]
fn right_answers_on_the_skeletons() {
    let Some(corpus) = std::env::var_os("ZHULU_CORPUS") else {
        eprintln!("NOT RUN: ZHULU_CORPUS is not set");
        return;
    };
    let folder = std::path::Path::new(&corpus).join("formats/skeletons");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("NOT RUN: the corpus has no skeletons");
        return;
    };
    let built_in = Identifier::built_in();
    let (mut known, mut first, mut any) = (0, 0, 0);
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (puid, _) =
            name.split_once("-signature-id").or_else(|| name.split_once("-container-signature-id")).unwrap();
        let puid = puid.trim_end_matches("-container");
        let (kind, number) = puid.rsplit_once('-').unwrap();
        let puid = format!("{kind}/{number}");
        if built_in.format(&puid).is_none() {
            continue;
        }
        known += 1;
        let found = puids(&look(built_in, &name, &std::fs::read(&path).unwrap()));
        first += usize::from(found.first() == Some(&puid));
        any += usize::from(found.contains(&puid));
    }
    // The floors were measured when the signatures were built in; files for signatures newer than these cannot be told.
    assert_eq!(known, 1114);
    assert!(first >= 1062 && any >= 1098, "{first} first, {any} among the answers");
}

proptest! {
    #[test]
    fn any_bytes_under_any_name_are_identified(name in ".{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..2000), start in 0usize..8) {
        let heads: [&[u8]; 8] = [b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-1.4", b"II*\0\x08\0\0\0", b"\x89PNG\r\n\x1a\n", b"\x1f\x8b\x08", b"\xff\xd8\xff\xe1..Exif\0\0MM\0*"];
        let bytes = [heads[start], &bytes].concat();
        let (found, _) = Identifier::built_in().identify_with_details(&bytes.as_slice(), Hints { name: &name, mime: None }, Scan::default());
        prop_assert!(found.matches.iter().all(|one| !one.basis.is_empty()));
    }

    #[test]
    fn any_text_as_a_sequence_is_read_or_refused(text in "[0-9A-F\\[\\](){}|!&~?*:' -]{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let body = sequence("BOFoffset", 0, "4", &format!("<Sequence>{}</Sequence>", text.replace('&', "&amp;")));
        if let Ok(identifier) = Identifier::from_xml(Some(signature_file(&[(&body, "")]).as_bytes()), None) {
            look(&identifier, "a", &bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damaged_packed_signatures_never_panic(at in 19usize..70_000, byte in any::<u8>()) {
        let mut packed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/pronom.bin")).unwrap();
        let at = at.min(packed.len() - 1);
        packed[at] = byte;
        if let Some(identifier) = Identifier::from_compact(&packed) {
            look(&identifier, "a.zip", b"PK\x03\x04 and more");
        }
    }
}
