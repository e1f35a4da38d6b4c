//! `zhulu identify` as people run it: every form of output, every kind of input, archives, traps, and signatures of one's own.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

struct Place {
    folder: tempfile::TempDir,
}

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Place { folder: tempfile::Builder::new().prefix("zhulu-识别-").tempdir().unwrap() }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zhulu"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ZHULU_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        let home = self.folder.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        command.env("HOME", &home).env("USERPROFILE", &home).env("APPDATA", &home);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).arg("identify").args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        finished(self.command(arguments).output().unwrap())
    }

    fn fed(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        finished(child.wait_with_output().unwrap())
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let run = self.run(&[arguments, &["--to", "json"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

fn finished(output: Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj <</Producer (Typst)>> endobj\n%%EOF\n";
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;";

/// An archive with stored or deflated entries.
fn zip(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, packed) in entries {
        let data = if *packed {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        let offset = (bytes.len() as u32).to_le_bytes();
        let mut common = vec![20, 0, 0, 8, if *packed { 8 } else { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend([b"PK\x03\x04".as_slice(), &common, name.as_bytes(), &data].concat());
        directory.extend([b"PK\x01\x02\x14\x00".as_slice(), &common, &[0; 10], &offset, name.as_bytes()].concat());
    }
    let (start, length) = ((bytes.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    let count = (entries.len() as u16).to_le_bytes();
    bytes.extend([&directory, b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &length, &start, &[0, 0]].concat());
    bytes
}

fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in entries {
        let mut header = [0u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[136..147].copy_from_slice(b"14000000000");
        header[148..156].copy_from_slice(b"        ");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn json_says_what_why_and_what_else() {
    let place = Place::new();
    place.write("文献/论文.pdf", PDF);
    place.write("文献/图.txt", GIF);
    place.write("文献/空", "");
    place.write("文献/说明.txt", encoding_rs_gbk());
    let all = place.json(&["文献"]);
    let by_file = |name: &str| all.iter().find(|one| one["file"].as_str().unwrap().ends_with(name)).unwrap();
    let pdf = by_file("论文.pdf");
    assert_eq!(
        (pdf["puid"].as_str(), pdf["mime"].as_str(), pdf["version"].as_str()),
        (Some("fmt/18"), Some("application/pdf"), Some("1.4"))
    );
    assert_eq!(pdf["basis"], "byte match at 0, 8 and 46, 5; extension match pdf");
    assert_eq!((&pdf["warning"], pdf["alternatives"].as_array().unwrap().len()), (&Value::Null, 0));
    assert_eq!(pdf["software"], "Typst");
    let gif = by_file("图.txt");
    assert_eq!((gif["puid"].as_str(), gif["warning"].as_str()), (Some("fmt/4"), Some("extension mismatch")));
    assert_eq!(by_file("空")["warning"], "empty file");
    assert_eq!(by_file("空")["puid"], Value::Null);
    let text = by_file("说明.txt");
    assert_eq!((text["mime"].as_str(), text["encoding"].as_str()), (Some("text/plain"), Some("gb18030")));
    assert!(text["warning"].as_str().unwrap().starts_with("match on extension only"));
    assert!(!text["alternatives"].as_array().unwrap().is_empty());
}

/// 这是一份说明文件，没有任何标记。 in GBK.
fn encoding_rs_gbk() -> Vec<u8> {
    let line = b"\xd5\xe2\xca\xc7\xd2\xbb\xb7\xdd\xcb\xb5\xc3\xf7\xce\xc4\xbc\xfe\xa3\xac\xc3\xbb\xd3\xd0\xc8\xce\xba\xce\xb1\xea\xbc\xc7\xa1\xa3\n";
    line.repeat(4)
}

#[test]
fn csv_has_the_columns_of_droid() {
    let place = Place::new();
    place.write("目录/引号\"，逗号.pdf", PDF);
    let run = place.run(&["目录", "--to", "csv", "--hash", "md5"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "ID,PARENT_ID,URI,FILE_PATH,NAME,METHOD,STATUS,SIZE,TYPE,EXT,LAST_MODIFIED,EXTENSION_MISMATCH,HASH,FORMAT_COUNT,PUID,MIME_TYPE,FORMAT_NAME,FORMAT_VERSION"
    );
    assert!(lines[1].starts_with("\"1\",\"\",\"file:///"), "{}", lines[1]);
    assert!(
        lines[1].contains(
            "\"目录/引号\"\"，逗号.pdf\",\"引号\"\"，逗号.pdf\",\"Signature\",\"Done\",\"52\",\"File\",\"pdf\",\"20"
        ),
        "{}",
        lines[1]
    );
    assert!(
        lines[1]
            .ends_with("\"1\",\"fmt/18\",\"application/pdf\",\"Acrobat PDF 1.4 - Portable Document Format\",\"1.4\""),
        "{}",
        lines[1]
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn xml_and_tables_hold_chinese_names() {
    let place = Place::new();
    place.write("目录/<论文>.pdf", PDF);
    let xml = place.run(&["目录", "--to", "xml"]).stdout;
    assert!(
        xml.starts_with(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<identifications signatures=\"109\" containers=\"25\">"
        ),
        "{xml}"
    );
    assert!(
        xml.contains("path=\"目录/&lt;论文&gt;.pdf\"")
            && xml.contains("puid=\"fmt/18\"")
            && xml.ends_with("</identifications>\n"),
        "{xml}"
    );
    let table = place.run(&["目录"]).stdout;
    assert!(table.starts_with("目录/<论文>.pdf\tfmt/18\tapplication/pdf\tAcrobat PDF 1.4"), "{table}");
}

#[test]
fn checksums_are_those_of_other_programs() {
    let place = Place::new();
    place.write("a.txt", "abc");
    for (kind, value) in [
        ("md5", "900150983cd24fb0d6963f7d28e17f72"),
        ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("blake3", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
    ] {
        let hash = &place.json(&["a.txt", "--hash", kind])[0]["hash"];
        assert_eq!((hash["kind"].as_str(), hash["value"].as_str()), (Some(kind), Some(value)));
    }
}

#[test]
fn standard_input_is_bytes_or_names() {
    let place = Place::new();
    place.write("一.pdf", PDF);
    place.write("二.gif", GIF);
    let bytes = place.fed(&["-", "--name", "x.pdf", "--to", "json"], PDF);
    let all: Vec<Value> = serde_json::from_str(&bytes.stdout).unwrap();
    assert_eq!((all[0]["file"].as_str(), all[0]["puid"].as_str()), (Some("x.pdf"), Some("fmt/18")));
    let names = place.fed(&["--files-from", "-", "--to", "json"], "二.gif\r\n一.pdf\n\n没有.pdf\n".as_bytes());
    assert_eq!(names.code, 1);
    assert!(names.stderr.contains("没有.pdf: there is no such file or folder"), "{}", names.stderr);
    let all: Vec<Value> = serde_json::from_str(&names.stdout).unwrap();
    assert_eq!(
        (all[0]["puid"].as_str(), all[1]["puid"].as_str()),
        (Some("fmt/4"), Some("fmt/18")),
        "in the order given"
    );
    assert!(all[2]["error"].is_string());
    let both = place.fed(&["-", "--files-from", "-"], b"");
    assert_eq!(both.code, 2);
}

#[cfg(unix)]
#[test]
fn links_and_special_files_do_no_harm() {
    let place = Place::new();
    place.write("f/一.pdf", PDF);
    std::os::unix::fs::symlink(place.folder.path().join("f"), place.folder.path().join("f/loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.folder.path().join("f/z")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(place.folder.path().join("f/socket")).unwrap();
    let run = place.run(&["f", "--to", "json"]);
    assert_eq!(run.code, 0);
    let all: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
}

#[test]
fn archives_are_looked_into_when_asked() {
    let place = Place::new();
    let inner = tar(&[("资料/论文.pdf", PDF), ("图.gif", GIF)]);
    place.write("包.zip", zip(&[("文件夹/", b"", false), ("a.pdf", PDF, true), ("内.tar.gz", &gzip(&inner), false)]));
    assert_eq!(place.json(&["包.zip"]).len(), 1);
    let all = place.json(&["包.zip", "--archives"]);
    let shown: Vec<(&str, Option<&str>)> =
        all.iter().map(|one| (one["file"].as_str().unwrap(), one["puid"].as_str())).collect();
    assert_eq!(
        shown,
        [
            ("包.zip", Some("x-fmt/263")),
            ("包.zip#a.pdf", Some("fmt/18")),
            ("包.zip#内.tar.gz", Some("x-fmt/266")),
            ("包.zip#内.tar.gz#内.tar", Some("x-fmt/265")),
            ("包.zip#内.tar.gz#内.tar#资料/论文.pdf", Some("fmt/18")),
            ("包.zip#内.tar.gz#内.tar#图.gif", Some("fmt/4")),
        ]
    );
    let csv = place.run(&["包.zip", "--archives", "--to", "csv"]).stdout;
    let last = csv.lines().last().unwrap();
    assert!(last.starts_with("\"6\",\"4\",\"archive:archive:archive:file:///"), "{last}");
    assert!(csv.lines().nth(1).unwrap().contains("\"Container\""));
}

#[test]
fn traps_are_left_alone() {
    let place = Place::new();
    let zeros = vec![0; 40 << 20];
    place.write("bomb.zip", zip(&[("zeros.bin", &zeros, true), ("论文.pdf", PDF, true)]));
    let all = place.json(&["bomb.zip", "--archives"]);
    assert!(all[1]["warning"].as_str().unwrap().contains("unpacks to more than 250 times its size"), "{}", all[1]);
    assert_eq!(all[2]["puid"], "fmt/18", "the rest is looked at");
    let mut nested = PDF.to_vec();
    for _ in 0..12 {
        nested = gzip(&nested);
    }
    place.write("deep.gz", &nested);
    let all = place.json(&["deep.gz", "--archives"]);
    assert!(all.len() < 9 && all.last().unwrap()["warning"].as_str().unwrap().contains("6 deep"), "{all:?}");
    let mut cut = zip(&[("a.pdf", PDF, true)]);
    cut.truncate(cut.len() - 30);
    place.write("cut.zip", &cut);
    assert_eq!(place.run(&["cut.zip", "--archives"]).code, 0);
    let mut tar = tar(&[("a.pdf", PDF), ("b.pdf", PDF)]);
    tar[1024 + 130] = b'x';
    place.write("bad.tar", &tar);
    let all = place.json(&["bad.tar", "--archives"]);
    assert!(all[0]["warning"].as_str().unwrap().contains("header is damaged"), "{all:?}");
}

const SIGNATURES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2026-11-01T00:00:00" Version="900" xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile">
<InternalSignatureCollection><InternalSignature ID="1" Specificity="Specific"><ByteSequence Reference="BOFoffset">
<SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="0"><Sequence>5A48554C55</Sequence></SubSequence></ByteSequence></InternalSignature></InternalSignatureCollection>
<FileFormatCollection><FileFormat ID="1" Name="著录" PUID="dev/1" Version="1"><InternalSignatureID>1</InternalSignatureID><Extension>zl</Extension></FileFormat>
<FileFormat ID="2" Name="ZIP" PUID="x-fmt/263"/></FileFormatCollection></FFSignatureFile>"#;

#[test]
fn signatures_of_ones_own_are_used_and_kept() {
    let place = Place::new();
    place.write("新.xml", SIGNATURES);
    place.write("a.zl", "ZHULU 1");
    assert_eq!(place.json(&["a.zl"])[0]["method"], "Text");
    assert_eq!(place.json(&["a.zl", "--signatures", "新.xml"])[0]["puid"], "dev/1");
    let info = place.run(&["--signatures-info"]).stdout;
    assert!(info.contains("signature file 109") && info.contains("built in"), "{info}");
    let update = place.run(&["--update", "新.xml"]);
    assert_eq!(update.code, 0, "{}", update.stderr);
    assert!(update.stdout.contains("signature file 900"), "{}", update.stdout);
    assert_eq!(place.json(&["a.zl"])[0]["name"], "著录");
    // What another version of the program compiled is compiled anew.
    let kept = if cfg!(target_os = "macos") { "home/Library/Application Support" } else { "home/.local/share" };
    let kept = if cfg!(windows) { "home" } else { kept };
    place.write(&format!("{kept}/zhulu/signatures/signatures.bin"), "old form");
    assert_eq!(place.json(&["a.zl"])[0]["puid"], "dev/1");
}

#[test]
fn signature_files_that_are_none_are_refused() {
    let place = Place::new();
    place.write("a.pdf", PDF);
    place.write("garbage.xml", "\u{1}\u{2} no XML");
    place.write(
        "bomb.xml",
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><FFSignatureFile>&b;</FFSignatureFile>",
    );
    for (file, words) in
        [("garbage.xml", "signature file"), ("bomb.xml", "document type"), ("none.xml", "cannot be read")]
    {
        for flag in ["--signatures", "--update"] {
            let run = place.run(&[flag, file, "a.pdf"]);
            assert_eq!(run.code, 2, "{}", run.stderr);
            assert!(run.stderr.contains(file) && run.stderr.contains(words), "{}", run.stderr);
        }
    }
    assert_eq!(place.json(&["a.pdf"])[0]["puid"], "fmt/18", "what was refused is not used");
    assert_eq!(place.run(&["a.pdf", "--scan", "much"]).code, 2);
    assert_eq!(place.run(&[]).code, 2);
}
