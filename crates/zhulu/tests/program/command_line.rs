//! Help, completions, manual pages and configuration.

use std::io::Read;
use std::process::Stdio;

use crate::{Place, names};

#[test]
fn help_and_version_are_for_reading() {
    let place = Place::new();
    let help = place.ok(["--help"]);
    assert!(help.contains("EXAMPLES") && help.contains("EXIT CODES"));
    assert!(place.ok(["--version"]).starts_with("zhulu "));
    assert!(place.ok(["add", "--help"]).contains("EXAMPLES"));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(place.ok(["completions", shell]).contains("zhulu"), "{shell}");
    }
    assert!(place.ok(["man"]).contains(".TH zhulu 1"));
    place.ok(["man", "手册/man1"]);
    let pages = names(&place.path("手册/man1"));
    for page in ["zhulu.1", "zhulu-add.1", "zhulu-serve.1", "zhulu-token-add.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} is not among {pages:?}");
    }
}

#[test]
fn later_places_of_configuration_outrank_earlier_ones() {
    let place = Place::new();
    let config = |arguments: &[&str], variable: Option<&str>| -> serde_json::Value {
        let mut command = place.command();
        command.args(arguments);
        command.envs(variable.map(|value| ("ZHULU_CATALOGUE", value)));
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    let value = config(&["config", "--to", "json"], None);
    assert_eq!(value["catalogue"]["from"], "default");
    assert!(value["catalogue"]["value"].as_str().unwrap().contains("home"), "{value}");
    place.write("zhulu.toml", "catalogue = \"sqlite:文件.sqlite\"\npage_size = 7\n");
    let value = config(&["config", "--to", "json"], None);
    assert_eq!(value["catalogue"]["value"], "sqlite:文件.sqlite");
    assert_eq!(value["page_size"]["value"], 7);
    let value = config(&["config", "--to", "json"], Some("sqlite:variable.sqlite"));
    assert_eq!(value["catalogue"]["value"], "sqlite:variable.sqlite");
    assert_eq!(value["catalogue"]["from"], "variable ZHULU_CATALOGUE");
    // The flag may stand before the command and after it.
    for arguments in
        [["--catalogue", "sqlite:a", "config", "--to", "json"], ["config", "--to", "json", "--catalogue", "sqlite:a"]]
    {
        let value = config(&arguments, Some("sqlite:variable.sqlite"));
        assert_eq!(value["catalogue"]["from"], "flag --catalogue");
    }
}

#[test]
fn the_printed_configuration_is_a_configuration() {
    let place = Place::new();
    let toml = place.ok(["--catalogue", "postgres://me:s3cret@host/db", "config", "--to", "toml"]);
    assert!(!toml.contains("s3cret"));
    place.write("printed.toml", &toml);
    let again = place.ok(["--config", "printed.toml", "config"]);
    assert!(again.contains("file printed.toml"), "{again}");
}

#[test]
fn a_reader_that_leaves_early_is_no_trouble() {
    let place = Place::new();
    let mut child =
        place.command().args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}
