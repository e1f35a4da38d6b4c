//! PDFs made here byte by byte: fonts that do not say what their letters mean, protection, labels, and files made to harm.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use zhulu_document::{Document, Method, extract, pdf_text};

/// A file of these objects, from number 1 on; the first is the catalogue. The table of objects is right.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", bytes.len()).unwrap();
        bytes.extend(format!("{} 0 obj\n", index + 1).bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let start = bytes.len();
    let size = objects.len() + 1;
    bytes.extend(
        format!("xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\n")
            .bytes(),
    );
    bytes.extend(format!("startxref\n{start}\n%%EOF\n").bytes());
    bytes
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {dictionary} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// A page that shows `content` with the font `/F`, and further objects from number 6 on.
fn page(font: &str, content: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>".to_vec(),
        stream("", content),
        font.as_bytes().to_vec(),
    ];
    objects.extend_from_slice(more);
    file(&objects, "")
}

fn show(hex: &str) -> Vec<u8> {
    format!("BT /F 20 Tf 50 700 Td <{hex}> Tj ET").into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(bytes: &[u8]) -> String {
    pdf_text(bytes, 1).concat()
}

fn codes(bytes: &[u8]) -> Vec<String> {
    extract("a.pdf", bytes, Method::All).extraction.warnings.into_iter().map(|warning| warning.code).collect()
}

fn get<'a>(document: &'a Document, name: &str) -> Option<&'a str> {
    document.properties.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// A composite font of a collection, not embedded and without a table to Unicode.
fn collection(encoding: &str, ordering: &str) -> String {
    format!(
        "<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /{encoding} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 \
         /BaseFont /SimSun /CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement 2 >> /DW 1000 >>] >>"
    )
}

#[test]
fn predefined_encodings_of_chinese_are_read() {
    let title = "元数据抽取";
    let gbk = hex(&encoding_rs::GBK.encode(title).0);
    assert_eq!(text(&page(&collection("GBK-EUC-H", "GB1"), &show(&gbk), &[])), title);
    let ucs2 = hex(&title.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    assert_eq!(text(&page(&collection("UniGB-UCS2-H", "GB1"), &show(&ucs2), &[])), title);
    assert_eq!(text(&page(&collection("UniGB-UTF16-H", "GB1"), &show(&ucs2), &[])), title);
    let big5 = hex(&encoding_rs::BIG5.encode("元資料").0);
    assert_eq!(text(&page(&collection("ETen-B5-H", "CNS1"), &show(&big5), &[])), "元資料");
    let shift_jis = hex(&encoding_rs::SHIFT_JIS.encode("目録").0);
    assert_eq!(text(&page(&collection("90ms-RKSJ-H", "Japan1"), &show(&shift_jis), &[])), "目録");
    let korean = hex(&encoding_rs::EUC_KR.encode("목록").0);
    assert_eq!(text(&page(&collection("KSCms-UHC-H", "Korea1"), &show(&korean), &[])), "목록");
}

#[test]
fn numbers_of_a_collection_are_read() {
    // 4559 is 中 in Adobe-GB1, 4162 is 文 there.
    let bytes = page(&collection("Identity-H", "GB1"), &show("11cf"), &[]);
    assert_eq!(text(&bytes), "中");
}

#[test]
fn an_embedded_font_is_read_backwards() {
    // A TrueType font of one table that matters: glyph 7 is 云 (U+4E91), and again its compatibility twin does not exist.
    let cmap: Vec<u8> = [
        &[0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12][..],
        &[0, 4, 0, 32, 0, 0, 0, 4, 0, 4, 0, 1, 0, 0],
        &[0x4e, 0x91, 0xff, 0xff, 0, 0, 0x4e, 0x91, 0xff, 0xff],
        &(7_u16.wrapping_sub(0x4e91)).to_be_bytes(),
        &[0, 1, 0, 0, 0, 0],
    ]
    .concat();
    let head = [&[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x5f, 0x0f, 0x3c, 0xf5, 0, 0, 0x03, 0xe8][..], &[0; 34]].concat();
    let maxp = [&[0, 1, 0, 0, 0, 9][..], &[0; 26]].concat();
    let tables: [(&[u8; 4], &[u8]); 3] = [(b"cmap", &cmap), (b"head", &head), (b"maxp", &maxp)];
    let mut font = [&[0, 1, 0, 0, 0, 3, 0, 32, 0, 1, 0, 16][..]].concat();
    let mut at = 12 + 16 * tables.len();
    for (name, table) in tables {
        font.extend(name);
        font.extend([0; 4]);
        font.extend((at as u32).to_be_bytes());
        font.extend((table.len() as u32).to_be_bytes());
        at += table.len().next_multiple_of(4);
    }
    for (_, table) in tables {
        font.extend(table);
        font.resize(font.len().next_multiple_of(4), 0);
    }
    let dictionary = "<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Own /Encoding /Identity-H /DescendantFonts [<< /Type /Font \
        /Subtype /CIDFontType2 /BaseFont /ABCDEF+Own /CIDToGIDMap /Identity /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) \
        /Supplement 0 >> /FontDescriptor << /Type /FontDescriptor /FontName /ABCDEF+Own /FontFile2 6 0 R >> >>] >>";
    let bytes = page(dictionary, &show("0007"), &[stream("", &font)]);
    assert_eq!(text(&bytes), "云");
}

#[test]
fn bitmaps_of_tex_are_read_by_their_codes() {
    let words = b"A su\x0ecient condition for e\x0bects";
    let mut names = String::new();
    let mut drawings = String::new();
    let mut widths = String::new();
    for code in 0..=255_u8 {
        write!(names, "/a{code} ").unwrap();
        write!(drawings, "/a{code} 6 0 R ").unwrap();
        write!(widths, "{} ", if code == b' ' { 300 } else { 500 }).unwrap();
    }
    let font = format!(
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 0 /LastChar 255 \
         /Widths [{widths}] /Encoding << /Type /Encoding /Differences [0 {names}] >> /CharProcs << {drawings} >> /Resources << >> >>"
    );
    let bytes = page(&font, &show(&hex(words)), &[stream("", b"500 0 0 0 500 500 d1")]);
    assert_eq!(text(&bytes), "A sufficient condition for effects");
    // Codes given out as letters come up are no text, and are said to be none.
    let garbled: Vec<u8> = (1..=60).collect();
    let bytes = page(&font, &show(&hex(&garbled)), &[stream("", b"500 0 0 0 500 500 d1")]);
    assert_eq!(codes(&bytes), ["garbled"]);
}

const HELVETICA: &str = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";

#[test]
fn replaced_letters_and_hidden_layers() {
    let content = b"BT /F 20 Tf 50 700 Td (e) Tj /Span << /ActualText (ffi) >> BDC (XY) Tj EMC (cient) Tj ET";
    assert_eq!(text(&page(HELVETICA, content, &[])), "efficient");
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [6 0 R] /D << /OFF [6 0 R] >> >> >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /Properties << /L 6 0 R >> >> >>".to_vec(),
        stream("", b"BT /F 20 Tf 50 700 Td (Seen) Tj /OC /L BDC (Hidden) Tj EMC ET"),
        HELVETICA.as_bytes().to_vec(),
        b"<< /Type /OCG /Name (Draft) >>".to_vec(),
    ];
    assert_eq!(text(&file(&objects, "")), "Seen");
}

#[test]
fn a_broken_table_of_objects_is_repaired() {
    let whole = page(HELVETICA, b"BT /F 20 Tf 50 700 Td (Found all the Same) Tj ET", &[]);
    let shown = String::from_utf8(whole.clone()).unwrap();
    for (from, to) in
        [("startxref\n", "startxref\n9"), ("00000 n", "00001 n"), ("xref\n0 6", "xfer\n0 6"), ("0000000", "0000009")]
    {
        assert_eq!(text(shown.replace(from, to).as_bytes()), "Found all the Same", "{from}");
    }
    assert_eq!(text(shown.replace("4 0 R", "4 0 R ").as_bytes()), "Found all the Same", "everything shifted");
}

#[test]
fn an_empty_password_opens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pdf");
    for (name, cipher) in [("rc4", "RC4 128-bit"), ("aes128", "AES 128-bit"), ("aes256", "AES 256-bit")] {
        let bytes = std::fs::read(folder.join(format!("empty-password-{name}.pdf"))).unwrap();
        assert_eq!(text(&bytes), "A Report under Lock and Key", "{name}");
        let document = extract("a.pdf", &bytes, Method::All);
        assert_eq!(get(&document, "Info:Title"), Some("上锁的报告"), "{name}");
        assert_eq!(get(&document, "PDF:Encryption"), Some(format!("{cipher}, may not print, assemble").as_str()));
    }
}

#[test]
fn facts_about_the_file() {
    let packet = r#"<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" pdfaid:part="2" pdfaid:conformance="B">
        <dc:creator><rdf:Seq><rdf:li>王小明</rdf:li></rdf:Seq></dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>"#;
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R /Metadata 3 0 R /Lang (zh-CN) /MarkInfo << /Marked true >> /PageLabels << /Nums [0 << /S /r >> 2 << /S /D >> 4 << /P (A-) /S /D /St 8 >>] >> >>".to_vec(),
        b"<< /Type /Pages /Kids [5 0 R 6 0 R 7 0 R 8 0 R 9 0 R] /Count 5 /MediaBox [0 0 595 842] >>".to_vec(),
        stream("/Type /Metadata /Subtype /XML", packet.as_bytes()),
        "<< /Title (Labels) /Journal (\u{4e91})  /Trapped /False >>".as_bytes().to_vec(),
    ];
    objects.extend((0..5).map(|_| b"<< /Type /Page /Parent 2 0 R >>".to_vec()));
    let document = extract("a.pdf", &file(&objects, "/Info 4 0 R"), Method::All);
    let expected = [
        ("Info:Title", "Labels"),
        ("Info:Journal", "云"),
        ("Info:Trapped", "False"),
        ("PDF:Version", "1.7"),
        ("PDF:PageCount", "5"),
        ("PDF:PageSize", "595 × 842 pt"),
        ("PDF:PageLabels", "i–ii, 1–2, A-8"),
        ("PDF:Language", "zh-CN"),
        ("PDF:Tagged", "Yes"),
        ("PDF:PDFA", "PDF/A-2b"),
        ("XMP:dc:creator", "王小明"),
    ];
    for (name, value) in expected {
        assert_eq!(get(&document, name), Some(value), "{name}: {:?}", document.properties);
    }
}

/// Fast enough in an unoptimised build on a busy machine; what hangs is slower.
fn ends(bytes: &[u8]) -> Vec<String> {
    let start = Instant::now();
    let codes = codes(bytes);
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    codes
}

#[test]
fn a_page_tree_of_ten_thousand_levels() {
    let mut objects = vec![b"<< /Type /Catalog /Pages 2 0 R >>".to_vec()];
    for number in 2..10_002 {
        objects.push(format!("<< /Type /Pages /Kids [{} 0 R] /Count 1 >>", number + 1).into_bytes());
    }
    objects.push(b"<< /Type /Page /MediaBox [0 0 600 800] >>".to_vec());
    assert_eq!(ends(&file(&objects, "")), ["no-text"]);
    let circle = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>".to_vec(),
    ];
    assert!(!ends(&file(&circle, "")).is_empty());
}

#[test]
fn an_object_stream_that_holds_itself() {
    let body = b"1 0 5 34 << /Type /Catalog /Pages 2 0 R >> << /Type /ObjStm >>";
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let at = bytes.len() as u16;
    bytes.extend(b"5 0 obj\n");
    bytes.extend(stream("/Type /ObjStm /N 2 /First 9", body));
    bytes.extend(b"\nendobj\n");
    let table = bytes.len();
    // Object 1 and object 5 are both said to lie in object stream 5; object 6 is this table.
    let _ = at;
    let rows: Vec<u8> =
        [[0_u8, 0, 0, 0], [2, 0, 5, 0], [0; 4], [0; 4], [0; 4], [2, 0, 5, 1], [1, 0, table as u8, 0]].concat();
    bytes.extend(b"6 0 obj\n");
    bytes.extend(stream("/Type /XRef /Size 7 /W [1 2 1] /Root 1 0 R", &rows));
    bytes.extend(format!("\nendobj\nstartxref\n{table}\n%%EOF\n").bytes());
    assert!(!ends(&bytes).is_empty());
    assert_eq!(pdf_text(&bytes, 1).len(), 0);
}

fn deflated(bytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..bytes >> 20 {
        encoder.write_all(&spaces).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn streams_that_unpack_to_gigabytes_are_left_packed() {
    let bomb = deflated(300 << 20);
    let mut twice = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    twice.write_all(&bomb).unwrap();
    let twice = twice.finish().unwrap();
    let page_of = |content: Vec<u8>| {
        let objects = [
            b"<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>".to_vec(),
            content,
        ];
        file(&objects, "")
    };
    for content in [stream("/Filter /FlateDecode", &bomb), stream("/Filter [/FlateDecode /FlateDecode]", &twice)] {
        let codes = ends(&page_of(content));
        assert_eq!(codes, ["damaged", "too-large"], "of the packet and of the page");
    }
    let objects = stream("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode", &bomb);
    assert_eq!(ends(&page_of(objects)), ["too-large"]);
}
