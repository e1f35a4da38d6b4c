//! What goes wrong, with the message and the exit code that the table promises.

use std::fs;

use crate::Place;

#[test]
fn an_unknown_option_or_command_is_usage() {
    let place = Place::new();
    let run = place.run(["add", "--recursiv", "x"]);
    assert_eq!(run.code, 2);
    let run = place.run(["serach", "x"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("search"), "the command that was meant is named: {}", run.stderr);
    assert_eq!(place.run(["add"]).code, 2, "nothing to add");
    assert_eq!(place.run(["edit", "aaaa"]).code, 2, "nothing to change");
}

#[test]
fn a_wrong_configuration_is_usage() {
    let place = Place::new();
    let run = place.run(["--config", "nowhere.toml", "config"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nowhere.toml"), "{}", run.stderr);
    place.write("zhulu.toml", "catalog = \"sqlite:x\"\n");
    let run = place.run(["config"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("\"catalog\"") && run.stderr.contains("\"catalogue\""), "{}", run.stderr);
    fs::remove_file(place.path("zhulu.toml")).unwrap();
    let run = place.run(["--catalogue", "mysql://x", "config"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("sqlite:PATH"), "{}", run.stderr);
}

#[test]
fn one_bad_file_does_not_stop_the_good_ones() {
    let place = Place::new();
    place.write("一.txt", "元数据自动抽取研究\n");
    place.write("二.txt", "A second report\n");
    let run = place.run(["add", "一.txt", "没有.pdf", "二.txt"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    assert!(run.stderr.contains("没有.pdf"), "{}", run.stderr);
    let run = place.run(["add", "--to", "jsonl", "一.txt", "没有.pdf"]);
    let lines: Vec<serde_json::Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["outcome"], "unchanged");
    assert!(lines[1]["error"].is_string(), "{lines:?}");
    assert_eq!(place.run(["extract", "一.txt", "没有.pdf"]).code, 1);
    assert_eq!(place.run(["identify", "没有.pdf"]).code, 1);
}

#[test]
fn a_record_that_is_not_there_is_said_so() {
    let place = Place::new();
    let run = place.run(["show", "aaaaaaaaaaaaaaaaaaaaaaaaaa"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("there is no record"), "{}", run.stderr);
    assert_eq!(place.run(["show", "!"]).code, 2);
    assert_eq!(place.run(["show", "oai:example.org:1"]).code, 1);
    assert_eq!(place.run(["history", "aaaaaaaaaaaaaaaaaaaaaaaaaa"]).code, 1);
    assert_eq!(place.run(["edit", "aaaaaaaaaaaaaaaaaaaaaaaaaa", "title=x"]).code, 1);
    assert_eq!(place.run(["erase", "aaaaaaaaaaaaaaaaaaaaaaaaaa", "--yes"]).code, 1);
}

#[test]
fn a_catalogue_of_a_newer_version_is_left_alone() {
    let place = Place::new();
    place.write("a.txt", "A report\n");
    let bytes = empty_database(999);
    let path = place.write("a.sqlite", &bytes);
    let run = place.run(["--catalogue", "sqlite:a.sqlite", "add", "a.txt"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("999") && run.stderr.contains("newer"), "{}", run.stderr);
    assert!(fs::read(&path).unwrap() == bytes, "nothing was changed");
}

/// An SQLite file without tables, as its file format describes it, with this `user_version`: our stored form's number.
fn empty_database(version: u32) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..24].copy_from_slice(&[0x10, 0, 2, 2, 0, 64, 32, 32]); // pages of 4096 bytes, with a write-ahead log
    for (place, value) in [(24, 1), (28, 1), (44, 4), (56, 1), (60, version), (92, 1), (96, 3_045_000)] {
        page[place..place + 4].copy_from_slice(&u32::to_be_bytes(value));
    }
    page[100..108].copy_from_slice(&[13, 0, 0, 0, 0, 0x10, 0, 0]); // the list of tables, empty
    page
}

#[test]
fn a_catalogue_that_cannot_be_reached_is_code_4() {
    let place = Place::new();
    let run = place.run(["--catalogue", "postgres://zhulu@127.0.0.1:1/zhulu", "search", "x"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("127.0.0.1"), "{}", run.stderr);
    let file = place.write("file", "x");
    let run = place.run(["--catalogue", &format!("sqlite:{}/below/a.sqlite", file.display()), "search", "x"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    place.write("text.sqlite", "this is no database, whatever its name says. ".repeat(100));
    assert_eq!(place.run(["--catalogue", "sqlite:text.sqlite", "search", "x"]).code, 4);
}

#[test]
fn a_source_that_cannot_be_reached_is_code_3() {
    let place = Place::new();
    // Refused by our own rules, and named with the way out.
    let run = place.run(["harvest", "http://127.0.0.1:1/oai"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("--allow 127.0.0.1"), "{}", run.stderr);
    // Allowed, and nobody there.
    let run = place.run(["harvest", "http://127.0.0.1:1/oai", "--allow", "127.0.0.1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let run = place.run(["add", "http://localhost:1/oai", "--allow", "localhost"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(place.run(["harvest", "example.org"]).code, 2, "that is no address");
}

#[test]
fn a_query_that_cannot_be_read_is_usage() {
    let place = Place::new();
    let run = place.run(["search", "date:yesterday..tomorrow"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn an_import_of_something_else_is_refused() {
    let place = Place::new();
    assert_eq!(place.run(["import", "nowhere.jsonl"]).code, 2);
    place.write("letter.txt", "Dear reader\n");
    let run = place.run(["import", "letter.txt"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
}
