//! A document's way through the catalogue and out again.

use crate::{Place, first_id, names};

#[test]
fn add_search_show_edit_history_export_import() {
    let place = Place::new();
    place.write(
        "文献/元数据.txt",
        "基于规则的元数据自动抽取研究\n\n李华 王明\n\n摘要：本文研究学术论文的元数据抽取。\n",
    );
    place.write("文献/report.txt", "A Report on Harvesting\n\nThis report is about harvesting metadata.\n");
    let added = place.run(["add", "文献"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(added.stdout.lines().count(), 2);
    assert!(added.stdout.lines().all(|line| line.split('\t').nth(1) == Some("created")), "{}", added.stdout);
    assert!(!added.stderr.contains("adding"), "no progress where nobody sees it: {}", added.stderr);

    let found = place.ok(["search", "抽取"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    let id = first_id(&found).to_owned();
    assert_eq!(place.ok(["search", "metadata harvesting", "--to", "jsonl"]).lines().count(), 1);
    let json: serde_json::Value = serde_json::from_str(&place.ok(["search", "--facets", "--to", "json"])).unwrap();
    assert_eq!(json["total"], 2);
    assert!(json["facets"].is_object(), "{json}");

    let shown = place.ok(["show", &id[..6]]);
    assert!(shown.contains(&id) && shown.contains("元数据.txt"), "{shown}");
    let shown: serde_json::Value = serde_json::from_str(&place.ok(["show", &id, "--to", "json"])).unwrap();
    assert_eq!(shown["id"], id.as_str());
    let key = shown["keys"][0].as_str().unwrap();
    assert!(place.ok(["show", key, "--to", "dc"]).contains("<dc:title"));

    let edited =
        place.ok(["edit", &id, "title=元数据抽取", "title@en=Extraction", "creator=李华", "creator=王明", "abstract="]);
    assert_eq!(edited, format!("{id}\tchanged\n"));
    let shown = place.ok(["show", &id]);
    for expected in ["元数据抽取", "title@en\tExtraction", "person:lin"] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    assert_eq!(first_id(&place.ok(["search", "title:Extraction"])), id, "the index has the edit");
    // A person's word outlives the machine's.
    place.ok(["add", "文献"]);
    assert!(place.ok(["show", &id]).contains("title@en\tExtraction"));
    assert_eq!(place.ok(["edit", &id, "--release", "title", "--release", "abstract"]), format!("{id}\tchanged\n"));
    assert!(!place.ok(["show", &id]).contains("title@en\tExtraction"));

    let history = place.ok(["history", &id]);
    assert!(history.contains("lin\t") && history.contains("gave title back"), "{history}");

    place.ok(["export", "--out", "导出.jsonl"]);
    assert!(!names(&place.path("")).iter().any(|name| name.ends_with(".part")));
    let export = std::fs::read_to_string(place.path("导出.jsonl")).unwrap();
    assert_eq!(place.ok(["export"]), export, "to a file or to standard output");
    place.ok(["--catalogue", "sqlite:二.sqlite", "import", "导出.jsonl"]);
    assert_eq!(place.ok(["--catalogue", "sqlite:二.sqlite", "export"]), export, "the same, byte for byte");
    place.ok(["--catalogue", "sqlite:二.sqlite", "import", "导出.jsonl"]);
    assert_eq!(place.ok(["--catalogue", "sqlite:二.sqlite", "search", "抽取"]), place.ok(["search", "抽取"]));

    let removed = place.ok(["edit", &id, "--delete"]);
    assert_eq!(removed, format!("{id}\tchanged\n"));
    assert_eq!(place.ok(["search", "抽取"]), "");
    assert!(place.ok(["show", &id]).contains("deleted"));
}

#[test]
fn backup_verify_restore_erase_compact() {
    let place = Place::new();
    place.write("秘密.txt", "A secret report\n");
    let id = first_id(&place.ok(["add", "秘密.txt"])).to_owned();
    assert_eq!(place.ok(["verify"]), "");
    place.ok(["backup", "备份"]);
    assert_eq!(place.ok(["--catalogue", "sqlite:备份/catalogue.sqlite", "verify"]), "");
    place.ok(["--catalogue", "sqlite:新/catalogue.sqlite", "restore", "备份"]);
    assert!(place.ok(["--catalogue", "sqlite:新/catalogue.sqlite", "show", &id]).contains("A secret report"));
    assert_eq!(place.run(["erase", &id]).code, 2, "nobody is there to ask");
    assert_eq!(place.ok(["erase", &id, "--yes"]), format!("{id}\terased\n"));
    assert_eq!(place.ok(["search", "secret"]), "");
    assert!(!place.ok(["export", "--blobs"]).contains("secret"));
    assert_eq!(place.ok(["verify"]), "");
    place.ok(["compact", "--keep", "0"]);
    assert_eq!(place.ok(["verify"]), "");
}

#[test]
fn extract_and_identify_need_no_catalogue() {
    let place = Place::new();
    place.write("a/论文.txt", "基于规则的元数据自动抽取研究\n\n李华\n");
    place.write("a/b.bin", [0u8, 1, 2, 3]);
    let lines = place.ok(["extract", "a", "--to", "jsonl"]);
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let paper = &lines[1];
    for name in
        ["file", "format", "lang", "title", "authors", "abstract", "keywords", "properties", "statements", "warnings"]
    {
        assert!(paper.get(name).is_some(), "{name} is not in {paper}");
    }
    assert_eq!(paper["format"]["mime"], "text/plain");
    assert!(paper["statements"].as_array().unwrap().iter().all(|statement| statement["element"] != "text"));
    assert!(place.ok(["extract", "a/论文.txt", "--to", "dc"]).contains("<oai_dc:dc"));
    let formats: serde_json::Value = serde_json::from_str(&place.ok(["identify", "a", "--to", "json"])).unwrap();
    assert_eq!(formats.as_array().unwrap().len(), 2);
    assert!(formats[1]["basis"].is_string() && formats[1]["alternatives"].is_array(), "{formats}");
    assert_eq!(names(&place.path("home")), Vec::<String>::new(), "nothing was made");
}

#[test]
fn tokens_are_shown_once() {
    let place = Place::new();
    let token = place.ok(["token", "add", "林"]);
    assert!(token.trim().len() > 30 && token.lines().count() == 1);
    assert_eq!(place.run(["token", "add", "林"]).code, 2);
    let list = place.ok(["token", "list"]);
    assert!(list.contains("林") && !list.contains(token.trim()));
    place.ok(["token", "remove", "林"]);
    assert_eq!(place.run(["token", "remove", "林"]).code, 1);
    assert_eq!(place.ok(["jobs", "list"]), "");
    assert_eq!(place.run(["jobs", "retry", "7"]).code, 1);
}
