//! Search from outside: records in, identifiers out. How the query language is read, and how texts fold and are cut, is
//! tested beside the code.

// What a helper here cannot do is a failed test, like what a test cannot do.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use zhulu_catalogue::Error;
use zhulu_catalogue::search::{Index, Query, Results, snippet};
use zhulu_record::{
    Element, Key, Kind, Language, NodeId, Record, RecordId, Said, SetName, Source, Stamp, Statement, Value, Voice,
};

fn id(number: u8) -> RecordId {
    RecordId::from_bytes([number; 16])
}

fn stamp() -> Stamp {
    Stamp { millis: 1, counter: 0, node: NodeId::from_bytes([1; 8]) }
}

/// A record of one source that says these things.
fn record(number: u8, kind: Kind, statements: Vec<Statement>) -> Record {
    let source = Source::machine("测试 source");
    let said = statements.into_iter().map(|statement| Said { statement, source: source.clone(), stamp: stamp() });
    Record {
        id: id(number),
        kind,
        deleted: false,
        erased: false,
        stamp: Some(stamp()),
        keys: vec![Key::Oai(format!("oai:example.org:{number}"))],
        sets: format!("shelf:{kind}").parse::<SetName>().unwrap().with_parents().collect(),
        statements: said.collect(),
        blobs: Vec::new(),
        provenance: Vec::new(),
        voices: vec![Voice { source, stamp: stamp(), live: true }],
        conflicts: Vec::new(),
    }
}

fn deleted(number: u8) -> Record {
    Record { deleted: true, ..record(number, Kind::Document, Vec::new()) }
}

fn say(element: Element, value: &str) -> Statement {
    Statement::new(element, value)
}

fn bounds(west: &str, south: &str, east: &str, north: &str) -> Statement {
    let parts = [("west", west), ("south", south), ("east", east), ("north", north)];
    let parts: BTreeMap<String, Value> =
        parts.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    Statement::new(Element::BOUNDING_BOX, Value::Structure(parts))
}

/// The catalogue of the table below.
fn library() -> Vec<Record> {
    vec![
        record(
            1,
            Kind::Document,
            vec![
                say(Element::TITLE, "数字图书馆元数据研究").lang("zh"),
                say(Element::ALTERNATIVE, "Metadata in Digital Libraries").lang("en"),
                say(Element::CREATOR, "张晓明"),
                say(Element::CREATOR, "Émile Müller"),
                say(Element::SUBJECT, "图书馆学"),
                say(Element::SUBJECT, "metadata"),
                say(Element::ABSTRACT, "本文讨论元数据的收割与发布。"),
                say(Element::DATE, "2005-03-02"),
                say(Element::IDENTIFIER, "https://doi.org/10.1000/182"),
                say(Element::PUBLISHER, "北京大学出版社"),
            ],
        ),
        record(
            2,
            Kind::Document,
            vec![
                say(Element::TITLE, "臺灣的數位典藏與開放取用").lang("zh-Hant"),
                say(Element::CREATOR, "陳大文"),
                say(Element::SUBJECT, "典藏"),
                say(Element::ABSTRACT, "圖書館與檔案館。"),
                say(Element::ISSUED, "2009年"),
                say(Element::LANGUAGE, "chi"),
            ],
        ),
        record(
            3,
            Kind::Dataset,
            vec![
                say(Element::TITLE, "Land cover of China"),
                say(Element::CREATOR, "Zhang, Wei"),
                say(Element::SUBJECT, "metadata"),
                say(Element::DESCRIPTION, "A dataset of repositories and ＦＵＬＬ　ＷＩＤＴＨ words"),
                say(Element::DATE, "2001"),
                say(Element::LANGUAGE, "eng"),
                bounds("73", "18", "135", "54"),
            ],
        ),
        record(
            4,
            Kind::Dataset,
            vec![
                say(Element::TITLE, "Fisheries of Fiji"),
                say(Element::DATE, "2011-06"),
                bounds("177", "-21", "-178", "-12"),
                say(Element::TEXT, "A long text about a fishing repository, and libraries."),
            ],
        ),
        record(
            5,
            Kind::Page,
            vec![
                say(Element::TITLE, "Digital humanities and the library"),
                say(Element::LANGUAGE, "zh_CN"),
                bounds("-10", "40", "5", "52"),
                bounds("100", "0", "110", "5"),
            ],
        ),
    ]
}

fn filled(folder: &Path) -> Index {
    let index = Index::open(folder).unwrap();
    assert!(index.update(&library(), 5).unwrap());
    index
}

fn ask(index: &Index, text: &str) -> Results {
    index.search(&Query { text: text.to_owned(), limit: 100, ..Query::default() }).unwrap()
}

fn numbers(results: &Results) -> Vec<u8> {
    results.hits.iter().map(|hit| hit.id.as_bytes()[0]).collect()
}

fn found(index: &Index, text: &str) -> Vec<u8> {
    let results = ask(index, text);
    assert_eq!(results.total, results.hits.len() as u64, "{text}");
    let mut numbers = numbers(&results);
    numbers.sort();
    numbers
}

#[test]
fn queries_find_what_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    let table: &[(&str, &[u8])] = &[
        ("", &[1, 2, 3, 4, 5]),
        // Chinese: words, single characters, any piece of text.
        ("图书馆", &[1, 2]),
        ("馆", &[1, 2]),
        ("书馆元", &[1]),
        ("图书馆元数据研究", &[1]),
        ("收割 发布", &[1]),
        ("元数据发布", &[1]),
        ("馆图", &[]),
        // Traditional and simplified are one, both ways.
        ("圖書館", &[1, 2]),
        ("數位典藏", &[2]),
        ("数位典藏", &[2]),
        ("台湾", &[2]),
        ("臺灣", &[2]),
        // Width, case, accents, plural.
        ("full width", &[3]),
        ("ｍｅｔａｄａｔａ", &[1, 3]),
        ("METADATA", &[1, 3]),
        ("emile muller", &[1]),
        ("Müllers", &[1]),
        ("repository", &[3, 4]),
        ("repositories", &[3, 4]),
        ("library", &[1, 4, 5]),
        // Phrases.
        ("\"digital library\"", &[1]),
        ("“digital humanities”", &[5]),
        ("\"library digital\"", &[]),
        ("\"元数据研究\"", &[1]),
        ("digital library", &[1, 5]),
        // Beginnings of words.
        ("fish*", &[4]),
        ("repositor*", &[3, 4]),
        ("repositori*", &[3, 4]),
        ("图书*", &[1, 2]),
        ("doi:10.1000/18*", &[1]),
        // Fields.
        ("title:library", &[1, 5]),
        ("title:(digital library)", &[1, 5]),
        ("题名：图书馆", &[1]),
        ("摘要:图书馆", &[2]),
        ("abstract:repository", &[3]),
        ("text:repository", &[4]),
        ("author:zhang", &[3]),
        ("作者:张晓明", &[1]),
        ("creator:张", &[1]),
        ("keyword:metadata", &[1, 3]),
        ("关键词:典藏", &[2]),
        ("doi:10.1000/182", &[1]),
        ("identifier:oai:example.org:4", &[4]),
        ("北京大学", &[1]),
        ("kind:dataset", &[3, 4]),
        ("lang:zh", &[1, 2, 5]),
        ("lang:zh-Hant", &[]),
        ("lang:zh-CN", &[5]),
        ("lang:eng", &[3]),
        ("set:shelf:page", &[5]),
        ("set:shelf", &[1, 2, 3, 4, 5]),
        ("source:\"测试 source\"", &[1, 2, 3, 4, 5]),
        ("source:测试*", &[1, 2, 3, 4, 5]),
        ("source:other", &[]),
        // And, or, not.
        ("digital -humanities", &[1]),
        ("digital NOT title:humanities", &[1]),
        ("-digital", &[2, 3, 4]),
        ("fiji OR 典藏", &[2, 4]),
        ("(fiji OR china) kind:dataset -fish*", &[3]),
        ("fiji OR -kind:dataset", &[1, 2, 4, 5]),
        // Half-typed queries search for what is there.
        ("\"digital library", &[1, 5]),
        ("(digital library", &[1, 5]),
        ("digital) library", &[1, 5]),
        ("？！", &[]),
        // Dates.
        ("date:2005", &[1]),
        ("date:2005-03", &[1]),
        ("date:2005-04", &[]),
        ("date:2001..2009", &[1, 2, 3]),
        ("date:2009-06..", &[2, 4]),
        ("date:..2001-05-05", &[3]),
        ("日期：2011-06-30..2012", &[4]),
        ("图书馆 date:2009", &[2]),
        // Places.
        ("bbox:100,20,101,21", &[3]),
        ("bbox:-180,-90,180,90", &[3, 4, 5]),
        ("bbox:178,-15,179,-14", &[4]),
        ("bbox:-179,-15,-178.5,-14", &[4]),
        ("bbox:170,-15,-170,-14", &[4]),
        ("bbox:0,-15,10,-14", &[]),
        ("bbox:50,20,60,50", &[]),
        ("bbox:101,1,102,2", &[5]),
        ("bbox:-5,45,0,46 digital", &[5]),
    ];
    for (text, expected) in table {
        assert_eq!(found(&index, text), *expected, "{text}");
    }
}

#[test]
fn a_match_in_the_title_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap();
    let elements = [Element::TEXT, Element::ABSTRACT, Element::SUBJECT, Element::TITLE];
    let records: Vec<Record> = (1..)
        .zip(elements)
        .map(|(number, element)| record(number, Kind::Document, vec![say(element, "元数据 catalogue")]))
        .collect();
    index.update(&records, 4).unwrap();
    for text in ["元数据", "数据", "catalogue"] {
        assert_eq!(numbers(&ask(&index, text)), [4, 3, 2, 1], "{text}");
    }
}

#[test]
fn a_dictionary_word_ranks_above_the_same_characters_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap();
    // 学会 is a word; in 科学会堂 the same two characters are not.
    let titles = ["科学会堂介绍", "学会章程介绍"];
    let records: Vec<Record> =
        (1..).zip(titles).map(|(number, title)| record(number, Kind::Page, vec![say(Element::TITLE, title)])).collect();
    index.update(&records, 2).unwrap();
    assert_eq!(numbers(&ask(&index, "学会")), [2, 1]);
}

#[test]
fn pages_of_hits_join_up_and_the_newest_come_first_without_words() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    assert_eq!(numbers(&ask(&index, ""))[..4], [4, 2, 1, 3]);
    for text in ["", "metadata OR library"] {
        let all = numbers(&ask(&index, text));
        let mut joined = Vec::new();
        for offset in 0..all.len() + 2 {
            let query = Query { text: text.to_owned(), offset, limit: 1, ..Query::default() };
            let page = index.search(&query).unwrap();
            assert_eq!(page.total, all.len() as u64);
            joined.extend(numbers(&page));
        }
        assert_eq!(joined, all);
    }
    let most = Query { limit: usize::MAX, offset: usize::MAX, ..Query::default() };
    assert_eq!(index.search(&most).unwrap().hits, []);
    assert_eq!(index.search(&Query::default()).unwrap().total, 5, "no hits wanted, only their number");
}

#[test]
fn facets_are_counted_and_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    // A second segment, so that counts of several are added up.
    let more = record(
        6,
        Kind::Dataset,
        vec![say(Element::TITLE, "More"), say(Element::SUBJECT, "metadata"), say(Element::SUBJECT, " metadata ")],
    );
    index.update(&[more], 6).unwrap();
    let query = Query { count_facets: true, ..Query::default() };
    let counts = |query: &Query, name: &str| -> Vec<(String, u64)> {
        let facets = index.search(query).unwrap().facets;
        facets.into_iter().find(|facet| facet.name == name).unwrap().counts
    };
    let pairs =
        |pairs: &[(&str, u64)]| pairs.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect::<Vec<_>>();
    assert_eq!(counts(&query, "kind"), pairs(&[("dataset", 3), ("document", 2), ("page", 1)]));
    assert_eq!(counts(&query, "source"), pairs(&[("测试 source", 6)]));
    assert_eq!(counts(&query, "language"), pairs(&[("zh", 3), ("en", 1)]));
    assert_eq!(counts(&query, "year"), pairs(&[("2001", 1), ("2005", 1), ("2009", 1), ("2011", 1)]));
    assert_eq!(counts(&query, "subject")[0], ("metadata".to_owned(), 3));
    assert_eq!(counts(&query, "creator").len(), 4);
    let names: Vec<String> = index.search(&query).unwrap().facets.into_iter().map(|facet| facet.name).collect();
    assert_eq!(names, ["kind", "source", "language", "year", "creator", "subject"]);

    let chosen = Query {
        text: "metadata".to_owned(),
        facets: vec![("subject".to_owned(), "metadata".to_owned()), ("year".to_owned(), "2001".to_owned())],
        limit: 10,
        ..query.clone()
    };
    assert_eq!(numbers(&index.search(&chosen).unwrap()), [3]);
    assert_eq!(counts(&chosen, "kind"), pairs(&[("dataset", 1)]));
    let of_kind = Query { kind: Some(Kind::Document), limit: 10, ..query.clone() };
    assert_eq!(numbers(&index.search(&of_kind).unwrap()), [2, 1]);
    let unknown = Query { facets: vec![("colour".to_owned(), "red".to_owned())], ..query };
    assert!(matches!(index.search(&unknown), Err(Error::Query { .. })));
    assert_eq!(ask(&index, "").facets, [], "not counted unless asked for");
}

#[test]
fn counts_are_exact_over_many_values_and_segments() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap();
    // Three segments; in each a hundred subjects that occur once, and some that occur more often.
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for segment in 0..3u8 {
        let records: Vec<Record> = (0..60u8)
            .map(|number| {
                let common = format!("主题{}", number % (5 + segment));
                let subjects = [common, format!("once {segment} {number}"), format!("also {segment} {number}")];
                subjects.iter().for_each(|subject| *expected.entry(subject.clone()).or_default() += 1);
                let said = subjects.iter().map(|subject| say(Element::SUBJECT, subject)).collect();
                record(segment * 60 + number, Kind::Document, said)
            })
            .collect();
        index.update(&records, u64::from(segment) + 1).unwrap();
    }
    let results = index.search(&Query { count_facets: true, ..Query::default() }).unwrap();
    let subjects = &results.facets.iter().find(|facet| facet.name == "subject").unwrap().counts;
    assert_eq!(subjects.len(), 10);
    assert!(subjects.is_sorted_by(|a, b| a.1 >= b.1));
    for (subject, count) in subjects {
        assert_eq!(expected[subject], *count, "{subject}");
    }
    assert!(subjects[..7].iter().all(|(subject, _)| subject.starts_with("主题")));
}

#[test]
fn records_are_replaced_and_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    let titled = |title: &str| record(1, Kind::Document, vec![say(Element::TITLE, title)]);
    index.update(&[titled("first"), titled("second")], 6).unwrap();
    assert_eq!(found(&index, "图书馆"), [2]);
    assert_eq!(found(&index, "first"), [0u8; 0], "of a record that comes twice the last stands");
    assert_eq!(found(&index, "second"), [1]);
    index.update(&[deleted(1), deleted(9)], 7).unwrap();
    assert_eq!(found(&index, ""), [2, 3, 4, 5]);
    assert_eq!(index.ids().unwrap(), [2, 3, 4, 5].map(id));
    index.update(&[titled("back")], 8).unwrap();
    assert_eq!(found(&index, "back"), [1]);
    assert_eq!(ask(&index, "").seq, 8);
}

#[test]
fn what_is_staged_is_found_after_the_commit_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    let titled = |title: &str| record(1, Kind::Document, vec![say(Element::TITLE, title)]);
    assert!(index.stage(&[titled("staged")]).unwrap());
    assert!(index.stage(&[titled("restaged")]).unwrap());
    assert_eq!((found(&index, "staged OR restaged"), index.position()), (vec![], 5));
    index.update(&[], 9).unwrap();
    assert_eq!((found(&index, "staged"), found(&index, "restaged"), index.position()), (vec![], vec![1], 9));
    index.stage(&[titled("forgotten")]).unwrap();
    index.release_pen();
    index.update(&[], 10).unwrap();
    assert_eq!(found(&index, "forgotten"), [0u8; 0]);
}

#[test]
fn the_position_survives_and_a_deleted_folder_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("索引 index");
    let index = Index::open(&path).unwrap();
    assert_eq!(index.position(), 0);
    index.update(&library(), 41).unwrap();
    assert_eq!(index.position(), 41);
    index.update(&[], 42).unwrap();
    drop(index);
    let index = Index::open(&path).unwrap();
    assert_eq!((index.position(), found(&index, "图书馆")), (42, vec![1, 2]));
    assert!(index.clear().unwrap());
    assert_eq!((index.position(), index.ids().unwrap()), (0, vec![]));
    drop(index);
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(Index::open(&path).unwrap().position(), 0);
}

#[test]
fn an_index_of_another_form_or_damaged_is_built_anew() {
    let damage: [fn(&Path); 4] = [
        |path| std::fs::write(path.join("meta.json"), "{").unwrap(),
        |path| {
            let meta = std::fs::read_to_string(path.join("meta.json")).unwrap();
            std::fs::write(path.join("meta.json"), meta.replace("zhulu-1", "zhulu-0")).unwrap();
        },
        |path| {
            for entry in std::fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "idx") {
                    std::fs::remove_file(path).unwrap();
                }
            }
        },
        |path| {
            for entry in std::fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "fast") {
                    std::fs::write(path, b"short").unwrap();
                }
            }
        },
    ];
    for (number, damage) in damage.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path()));
        damage(folder.path());
        std::fs::write(folder.path().join("目录.txt"), "not ours").unwrap();
        let index = Index::open(folder.path()).unwrap();
        assert_eq!((index.position(), index.ids().unwrap()), (0, vec![]), "damage {number}");
        assert!(folder.path().join("目录.txt").exists(), "what is not the index's stays");
        index.update(&library(), 5).unwrap();
        assert_eq!(found(&index, "图书馆"), [1, 2]);
    }
}

#[test]
fn one_holds_the_pen_and_the_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let first = filled(folder.path());
    let second = Index::open(folder.path()).unwrap();
    assert_eq!((second.position(), found(&second, "图书馆")), (5, vec![1, 2]));
    assert!(!second.update(&[deleted(1)], 6).unwrap(), "the first holds the pen");
    assert!(!second.purge().unwrap() && !second.stage(&[]).unwrap() && !second.clear().unwrap());
    assert!(first.update(&[deleted(1)], 7).unwrap());
    assert_eq!((second.position(), found(&second, "图书馆")), (7, vec![2]), "what the first commits the second sees");
    first.release_pen();
    assert!(second.update(&[deleted(2)], 8).unwrap());
    assert_eq!((first.position(), found(&first, "图书馆")), (8, vec![]));
    assert!(!first.update(&[], 9).unwrap());
    // A record that another process brought is replaced, though this one has not looked since.
    let same = record(6, Kind::Page, vec![say(Element::TITLE, "twice")]);
    assert!(second.update(std::slice::from_ref(&same), 9).unwrap());
    second.release_pen();
    assert!(first.update(&[same], 10).unwrap());
    assert_eq!(found(&first, "twice"), [6]);
}

/// Whether any file of the index holds these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let content = std::fs::read(entry.unwrap().path()).unwrap();
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn after_a_purge_no_byte_of_an_erased_record_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let index = filled(folder.path());
    let secret = |number| {
        let name = "Zzyzx Quuxington";
        record(
            number,
            Kind::Document,
            vec![say(Element::TITLE, "zzyzxquux secret"), say(Element::CREATOR, name), say(Element::SUBJECT, name)],
        )
    };
    // One among others in its segment, one alone in its.
    let beside = record(8, Kind::Page, vec![say(Element::TITLE, "beside it"), say(Element::CREATOR, "Someone Else")]);
    index.update(&[secret(7), beside], 6).unwrap();
    index.update(&[secret(9)], 7).unwrap();
    assert!(holds(folder.path(), b"Zzyzx Quuxington"), "the test can see what it looks for");
    index.update(&[deleted(7), deleted(9)], 8).unwrap();
    assert!(index.purge().unwrap());
    assert!(!holds(folder.path(), b"Zzyzx") && !holds(folder.path(), b"zzyzx"));
    assert_eq!((index.position(), found(&index, "beside"), found(&index, "zzyzxquux")), (8, vec![8], vec![]));
    assert!(index.update(&[deleted(8)], 9).unwrap(), "and the index goes on");
    assert_eq!(found(&index, "图书馆"), [1, 2]);
}

#[test]
fn snippets_mark_what_the_index_finds() {
    let query = |text: &str| Query { text: text.to_owned(), ..Query::default() };
    let pieces = |text: &str, asked: &str| snippet(text, &query(asked), 80).pieces;
    let piece = |text: &str, fits: bool| (text.to_owned(), fits);
    assert_eq!(pieces("臺灣的數位典藏", "数位典藏"), [piece("臺灣的", false), piece("數位典藏", true)]);
    assert_eq!(pieces("ＭＥＴＡ data", "meta"), [piece("ＭＥＴＡ", true), piece(" data", false)]);
    assert_eq!(pieces("plain", ""), [piece("plain", false)]);
}

#[test]
fn statements_of_every_kind_are_taken_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap();
    let long = "长".repeat(5_000) + &"x".repeat(200_000);
    let odd = vec![
        say(Element::TITLE, &long),
        say(Element::CREATOR, &long),
        say(Element::SUBJECT, ""),
        say(Element::DATE, "昨天"),
        say(Element::LANGUAGE, "\u{0}"),
        bounds("east", "", "1e400", "NaN"),
        Statement { language: Some(Language::new("")), ..say("x-field".parse().unwrap(), "needle") },
        Statement::new(Element::PARAMETER, Value::Structure([("name".to_owned(), "haystack".into())].into())),
    ];
    index.update(&[record(1, Kind::Api, odd)], 1).unwrap();
    assert_eq!(found(&index, "needle haystack 长长长 date:2000..").len(), 0);
    assert_eq!(found(&index, "needle haystack 长长长"), [1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_query_is_answered_or_refused(
        text in prop_oneof![
            any::<String>(),
            "[a-c图書 \"“”()（）:：*|&!.,0-9-]{0,40}",
            "((title|date|bbox|kind|lang|set|source|日期)[:：]|OR |AND |NOT |-|\\(|\\)|\"|a\\*?|书|20[0-9]{2}|\\.\\.|,| ){0,20}",
        ],
        body in any::<String>(),
        length in 0usize..100,
    ) {
        thread_local! {
            static INDEX: (tempfile::TempDir, Index) = {
                let folder = tempfile::tempdir().unwrap();
                let index = filled(folder.path());
                (folder, index)
            };
        }
        let query = Query { text, limit: 3, count_facets: true, ..Query::default() };
        INDEX.with(|(_, index)| match index.search(&query) {
            Ok(_) | Err(Error::Query { .. }) => {}
            Err(other) => panic!("{other}"),
        });
        let shown: String = snippet(&body, &query, length).pieces.into_iter().map(|(text, _)| text).collect();
        prop_assert!(shown.chars().count() <= length);
        if body.chars().count() <= length {
            prop_assert_eq!(shown, body);
        }
    }
}

#[test]
fn any_piece_of_a_chinese_title_finds_its_record() {
    let titles = [
        "基于结合关键词的学术论文元数据抽取方法研究",
        "中华人民共和国国家标准：信息与文献　都柏林核心元数据元素集",
        "南京市长江大桥的设计与施工（1960—1968）",
        "漢語大詞典電子版的編纂與檢索",
        "张三丰、李四光与王五的ＸＭＬ数据交换",
    ];
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap();
    let records: Vec<Record> = (0..)
        .zip(titles)
        .map(|(number, title)| record(number, Kind::Document, vec![say(Element::TITLE, title)]))
        .collect();
    index.update(&records, 5).unwrap();
    for (number, title) in (0u8..).zip(titles) {
        let characters: Vec<char> = title.chars().collect();
        for start in 0..characters.len() {
            for end in start + 1..=characters.len().min(start + 12) {
                let piece: String = characters[start..end].iter().collect();
                if !piece.chars().any(char::is_alphanumeric)
                    || piece.chars().any(|c| c.is_ascii_digit() || ('Ａ'..='ｚ').contains(&c))
                {
                    // Half a number or half an English word is not a word.
                    continue;
                }
                let piece = piece.replace(['（', '）'], " ");
                assert!(found(&index, &piece).contains(&number), "{piece} of {title}");
                let phrase = format!("\"{piece}\"");
                assert!(found(&index, &phrase).contains(&number), "{phrase} of {title}");
            }
        }
    }
}
