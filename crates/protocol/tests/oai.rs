//! OAI-PMH end to end: what is written validates and reads back as what it was.
//!
//! `golden/` holds one response for every verb and error; a response without a golden fails, and the reverse. With
//! `ZHULU_BLESS=1` they are rewritten. Against the official schemas they are checked where those are at hand.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use zhulu_protocol::oai::response::write;
use zhulu_protocol::oai::*;
use zhulu_protocol::{dublin_core, feed};
use zhulu_record::{Datestamp, Element, SetName, Statement};

fn envelope(echo: &[(&'static str, &str)]) -> Envelope {
    Envelope {
        response_date: Datestamp::from_seconds(1_790_000_000),
        base_url: "https://catalogue.example.org/oai".into(),
        echo: echo.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
    }
}

fn item(number: u8, metadata: Option<&[Statement]>) -> Item {
    Item {
        identifier: format!("oai:catalogue.example.org:{number}"),
        datestamp: Datestamp::from_seconds(1_700_000_000 + i64::from(number)),
        sets: ["kind", "kind:document"].map(|set| set.parse::<SetName>().unwrap()).to_vec(),
        metadata: metadata.map(dublin_core::write),
    }
}

fn statements() -> Vec<Statement> {
    vec![
        Statement::new(Element::TITLE, "基于规则的元数据自动抽取").lang("zh"),
        Statement::new(Element::TITLE, "Rule-based extraction of <metadata> & more").lang("en"),
        Statement::new(Element::CREATOR, "林 文"),
        Statement::new(Element::ABSTRACT, "An abstract with a control \u{1} character.\r\nTwo lines.").lang("en"),
        Statement::new(Element::ISSUED, "2009-03"),
        Statement::new(Element::PART_OF, "图书情报工作"),
        Statement::new(Element::TEXT, "never published"),
    ]
}

/// Every kind of response.
fn tour() -> Vec<(&'static str, String)> {
    let said = statements();
    let items = vec![item(1, Some(&said)), item(2, None)];
    let resume =
        |token: Option<&str>, cursor| Some(Resume { token: token.map(str::to_owned), complete_list_size: 3, cursor });
    let identify = Identify {
        name: "目录 & catalogue".into(),
        admin_email: "admin@example.org".into(),
        earliest: Datestamp::from_seconds(1_700_000_000),
        namespace: Some("catalogue.example.org".into()),
        sample: "oai:catalogue.example.org:aaaaaaaaaaaaaaaaaaaaaaaaaa".into(),
        descriptions: Vec::new(),
    };
    let format = Format {
        prefix: dublin_core::PREFIX.into(),
        schema: dublin_core::SCHEMA.into(),
        namespace: dublin_core::NAMESPACE.into(),
    };
    let set = Set { spec: "kind:document".parse().unwrap(), name: "文献 / documents".into() };
    let list = |verb: &'static str, items: &[Item], resume, make: fn(List) -> Answer| {
        write(&envelope(&[("verb", verb), ("metadataPrefix", "oai_dc")]), &make(List { items: items.to_vec(), resume }))
    };
    let all_faults = [
        Code::BadArgument,
        Code::BadResumptionToken,
        Code::BadVerb,
        Code::CannotDisseminateFormat,
        Code::IdDoesNotExist,
        Code::NoRecordsMatch,
        Code::NoMetadataFormats,
        Code::NoSetHierarchy,
    ];
    let faults = all_faults.map(|code| Fault::new(code, format!("what <happened> with {}", code.name()))).to_vec();
    vec![
        ("identify", write(&envelope(&[("verb", "Identify")]), &Answer::Identify(identify))),
        (
            "list-metadata-formats",
            write(&envelope(&[("verb", "ListMetadataFormats")]), &Answer::ListMetadataFormats(vec![format])),
        ),
        ("list-sets", write(&envelope(&[("verb", "ListSets")]), &Answer::ListSets(vec![set]))),
        (
            "get-record",
            write(
                &envelope(&[
                    ("verb", "GetRecord"),
                    ("identifier", "oai:catalogue.example.org:1"),
                    ("metadataPrefix", "oai_dc"),
                ]),
                &Answer::GetRecord(items[0].clone()),
            ),
        ),
        ("list-records-first", list("ListRecords", &items, resume(Some("token"), 0), Answer::ListRecords)),
        ("list-records-last", list("ListRecords", &items[..1], resume(None, 2), Answer::ListRecords)),
        ("list-records-whole", list("ListRecords", &items, None, Answer::ListRecords)),
        ("list-identifiers", list("ListIdentifiers", &items, resume(Some("token"), 0), Answer::ListIdentifiers)),
        ("errors", write(&envelope(&[]), &Answer::Errors(faults))),
    ]
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("golden")
}

#[test]
fn responses_are_as_expected() {
    let folder = golden_folder();
    let mut names = BTreeSet::new();
    for (name, xml) in tour() {
        let path = folder.join(format!("{name}.xml"));
        names.insert(path.clone());
        if std::env::var_os("ZHULU_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &xml).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(xml, expected, "{name}");
    }
    let found: BTreeSet<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found, names, "every golden belongs to a response, and the reverse");
}

/// A golden cannot bless a mistake: each validates against the protocol's own schemas.
#[test]
fn goldens_validate() {
    let Some(corpus) = std::env::var_os("ZHULU_CORPUS").map(PathBuf::from) else {
        return println!("NOT RUN: ZHULU_CORPUS does not point to the schemas");
    };
    if Command::new("xmllint").arg("--version").output().is_err() {
        return println!("NOT RUN: xmllint is not installed");
    }
    let schema = corpus.join("oai").join("xsd").join("all.xsd");
    let goldens = std::fs::read_dir(golden_folder()).unwrap().map(|entry| entry.unwrap().path());
    let output =
        Command::new("xmllint").args(["--noout", "--nonet", "--schema"]).arg(schema).args(goldens).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Real responses of other people's repositories are read without trouble.
#[test]
fn real_responses_are_read() {
    let Some(corpus) = std::env::var_os("ZHULU_CORPUS").map(PathBuf::from) else {
        return println!("NOT RUN: ZHULU_CORPUS does not point to real responses");
    };
    let (mut pages, mut records, mut with_statements) = (0, 0, 0);
    for folder in std::fs::read_dir(corpus.join("oai").join("responses")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let bytes = std::fs::read(&file).unwrap();
            let page = read(&bytes);
            // Counted independently, and only where the text is plain enough for counting to be right.
            let text = String::from_utf8_lossy(&bytes);
            if page.is_oai && page.warnings.is_empty() && !text.contains("<!--") && !text.contains("<metadata><record")
            {
                let headers = text.matches("</header>").count() + text.matches("</oai:header>").count();
                assert_eq!(page.records.len(), headers, "{}: {page:#?}", file.display());
            }
            pages += usize::from(page.is_oai);
            records += page.records.len();
            with_statements += page.records.iter().filter(|record| !record.statements.is_empty()).count();
        }
    }
    println!("{pages} responses, {records} records, {with_statements} with Dublin Core");
    assert!(pages > 150 && records > 500, "{pages} {records}");
}

#[test]
fn every_written_list_reads_back() {
    let page = read(tour().iter().find(|(name, _)| *name == "list-records-first").unwrap().1.as_bytes());
    assert!(page.complete && page.warnings.is_empty(), "{page:#?}");
    assert_eq!(page.token.as_deref(), Some("token"));
    assert_eq!(page.complete_list_size, Some(3));
    assert_eq!(page.response_date, Some(Datestamp::from_seconds(1_790_000_000)));
    let said = statements();
    let expected = [item(1, Some(&said)), item(2, None)];
    assert_eq!(page.records, expected.each_ref().map(Harvested::from));
    assert_eq!(
        page.records[0].statements[3].value.as_text(),
        Some("An abstract with a control  character.\r\nTwo lines.")
    );
    let identify = read(tour()[0].1.as_bytes()).identify.unwrap();
    assert_eq!(identify.granularity, "YYYY-MM-DDThh:mm:ssZ");
    assert_eq!((identify.name.as_str(), identify.deleted_record.as_str()), ("目录 & catalogue", "persistent"));
}

/// What broken records are made of.
const PIECES: [&str; 24] = [
    "<dc>",
    "</dc>",
    "<dc:title>",
    "</dc:title>",
    "<x:a b='1' b='2'>",
    "</x:a>",
    "<title lang=\"zh",
    "\">",
    "<br/>",
    "题名",
    "&amp;",
    "&nbsp;",
    "&",
    "&#1;",
    "&bomb;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?pi",
    "?>",
    "</metadata>",
    "</record>",
    "<record>",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever a value holds, a harvester reads what was written, but for characters that XML cannot carry.
    #[test]
    fn texts_survive_the_wire(records in prop::collection::vec(prop::collection::vec((0usize..15, any::<String>(), prop::option::of("[a-z]{2,3}")), 0..6), 1..5), deleted in any::<u8>()) {
        let dublin: Vec<&Element> = Element::KNOWN.iter().filter(|element| element.dublin_core() == Some(element.name())).collect();
        prop_assert_eq!(dublin.len(), 15);
        let legal = |c: &char| matches!(*c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        let mut items = Vec::new();
        let mut expected = Vec::new();
        for (number, values) in records.iter().enumerate() {
            let statements: Vec<Statement> = values.iter().map(|(element, text, language)| {
                let statement = Statement::new(dublin[*element].clone(), text.as_str());
                match language { Some(tag) => statement.lang(tag), None => statement }
            }).collect();
            let gone = deleted & (1 << number) != 0;
            items.push(item(number as u8, (!gone).then_some(&statements)));
            let mut read: Vec<Statement> = Vec::new();
            let mut written: Vec<&Statement> = Vec::new();
            for statement in statements.iter().filter(|_| !gone) {
                let text: String = statement.value.as_text().unwrap().chars().filter(legal).collect();
                if !text.trim().is_empty() && !written.contains(&statement) {
                    read.push(Statement { value: text.trim().into(), ..statement.clone() });
                    written.push(statement);
                }
            }
            expected.push((gone, read));
        }
        let xml = write(&envelope(&[]), &Answer::ListRecords(List { items: items.clone(), resume: None }));
        let page = read(xml.as_bytes());
        prop_assert!(page.complete && page.warnings.is_empty(), "{:?}", page.warnings);
        let got: Vec<_> = page.records.iter().map(|record| (record.deleted, record.statements.clone())).collect();
        prop_assert_eq!(got, expected);
        prop_assert_eq!(page.records, items.iter().map(Harvested::from).collect::<Vec<_>>());
    }

    /// Whatever markup stands in a record, the metadata kept of it is whole: read again it says the same.
    #[test]
    fn metadata_kept_is_whole(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24)) {
        let soup = pieces.concat();
        let xml = format!("<OAI-PMH xmlns:x='u'><ListRecords><record><header><identifier>a</identifier></header><metadata>{soup}</metadata></record><record><header><identifier>z</identifier></header></record></ListRecords></OAI-PMH>");
        let page = read(xml.as_bytes());
        for record in &page.records {
            if let Some(metadata) = &record.metadata {
                let (statements, warnings) = dublin_core::read(metadata);
                prop_assert!(warnings.is_empty(), "{}: {:?}", metadata, warnings);
                prop_assert_eq!(&statements, &record.statements);
            }
        }
    }

    /// No bytes stop the reader, and a response that was whole still gives all that comes before the damage.
    #[test]
    fn damaged_responses_are_read(place in 0usize..2000, byte in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let said = statements();
        let items: Vec<Item> = (0..4).map(|number| item(number, Some(&said))).collect();
        let mut bytes = write(&envelope(&[]), &Answer::ListRecords(List { items, resume: None })).into_bytes();
        let place = place.min(bytes.len() - 1);
        bytes[place] = byte;
        read(&bytes);
        read(&bytes[..place]);
        read(&noise);
        dublin_core::read(&String::from_utf8_lossy(&noise));
    }
}

#[test]
fn an_empty_feed_is_a_feed() {
    let channel = feed::Channel {
        title: "t".into(),
        link: "https://a.org/".into(),
        description: "d".into(),
        address: "https://a.org/feed/rss2".into(),
        items: Vec::new(),
    };
    assert!(!feed::write_rss2(&channel).contains("lastBuildDate"));
}
