//! `zhulu search`: what the index finds, with the reason shown.

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use zhulu_catalogue::search::{Query, Snippet, snippet};
use zhulu_record::{Element, Kind, Record};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::table::{fit, plain};

/// How much of a text is shown around what was found, in characters.
const SNIPPET: usize = 160;

/// Search the catalogue
///
/// Words, "phrases", the beginnings of words (extrac*), fields (title:, creator:, subject:, abstract:), dates
/// (date:2001..2009) and places (bbox:WEST,SOUTH,EAST,NORTH). Simplified and traditional characters find each other.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu search 元数据
  zhulu search 'title:extraction date:2005..2009'
  zhulu search '\"header metadata\"' --limit 50 --to jsonl
  zhulu search --facets --limit 0")]
pub(crate) struct Search {
    /// The query; nothing finds everything
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Only records of this kind: document, page, course, api, dataset or media
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
    /// Only records with this facet value; may be given several times
    #[arg(long, value_name = "FACET=VALUE", value_parser = facet)]
    only: Vec<(String, String)>,
    /// At most so many results
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Leave out so many first
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    offset: usize,
    /// Count kinds, years, languages, creators and subjects
    #[arg(long)]
    facets: bool,
    /// How to print the results
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
    Jsonl,
}

impl Search {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        context.index(&catalogue).await;
        let query = Query {
            text: self.query.join(" "),
            kind: self.kind,
            facets: self.only,
            offset: self.offset,
            limit: self.limit,
            count_facets: self.facets,
        };
        let results = catalogue.search(query.clone(), None).await?;
        let ids: Vec<_> = results.hits.iter().map(|hit| hit.id).collect();
        let records = catalogue.store().records(&ids).await?;
        let found = results.hits.iter().zip(records).filter_map(|(hit, stored)| Some((hit.score, stored?.record)));
        let found: Vec<(f32, Record)> = found.collect();

        let mut output = Output::new();
        let facets: BTreeMap<&str, &Vec<(String, u64)>> =
            results.facets.iter().map(|facet| (facet.name.as_str(), &facet.counts)).collect();
        match self.to {
            To::Table => {
                for (_, record) in &found {
                    print_hit(&mut output, record, &query)?;
                }
                for (name, counts) in &facets {
                    writeln!(output, "{name}")?;
                    for (value, count) in *counts {
                        writeln!(output, "  {count:>8}  {}", plain(value))?;
                    }
                }
                output.flush()?;
                if !context.quiet {
                    say(&format!("{} found, {} shown", results.total, found.len()));
                }
            }
            To::Json => {
                let hits: Vec<Value> = found.iter().map(|(score, record)| hit_json(*score, record, &query)).collect();
                let mut all = json!({ "total": results.total, "seq": results.seq, "hits": hits });
                if self.facets {
                    all["facets"] = json!(facets);
                }
                output.json(&all)?;
            }
            To::Jsonl => {
                for (score, record) in &found {
                    output.json_line(&hit_json(*score, record, &query))?;
                }
            }
        }
        Ok(Completion::Done)
    }
}

/// A record found: a line with its title, one with its authors and date, and where the query fits.
fn print_hit(output: &mut Output, record: &Record, query: &Query) -> std::io::Result<()> {
    let title = record.first(&Element::TITLE).unwrap_or("(no title)");
    let creators: Vec<&str> = record.all(&Element::CREATOR).filter_map(|said| said.statement.value.as_text()).collect();
    let Some(width) = output.width else {
        return output.line(&format!(
            "{}\t{}\t{}\t{}",
            record.id,
            plain(title),
            plain(&creators.join("; ")),
            date(record)
        ));
    };
    // Characters, not columns: a snippet is cut to what certainly fits.
    let title = marked(output, &snippet(title, query, width.saturating_sub(30) / 2));
    output.line(&format!("{}  {title}", output.faint(&record.id.to_string())))?;
    let about: Vec<String> = [creators.join("; "), date(record)].into_iter().filter(|part| !part.is_empty()).collect();
    if !about.is_empty() {
        output.line(&format!("    {}", fit(&plain(&about.join(", ")), width - 4)))?;
    }
    if let Some(text) = body(record) {
        let length = SNIPPET.min((width - 4) / if text.is_ascii() { 1 } else { 2 });
        let text = marked(output, &snippet(text, query, length));
        output.line(&format!("    {text}"))?;
    }
    output.line("")
}

fn hit_json(score: f32, record: &Record, query: &Query) -> Value {
    let texts = |element: &Element| -> Vec<String> {
        record.all(element).map(|said| said.statement.value.to_string()).collect()
    };
    let snippet = body(record).map(|text| {
        let pieces = snippet(text, query, SNIPPET).pieces;
        pieces.into_iter().map(|(text, fits)| json!({ "text": text, "match": fits })).collect::<Vec<_>>()
    });
    json!({
        "id": record.id,
        "score": score,
        "kind": record.kind,
        "title": record.first(&Element::TITLE),
        "creators": texts(&Element::CREATOR),
        "date": Some(date(record)).filter(|date| !date.is_empty()),
        "snippet": snippet,
    })
}

/// The text in which a reader looks for what was found.
fn body(record: &Record) -> Option<&str> {
    [Element::ABSTRACT, Element::DESCRIPTION, Element::TEXT].iter().find_map(|element| record.first(element))
}

fn date(record: &Record) -> String {
    let dates = [Element::ISSUED, Element::DATE, Element::CREATED];
    dates.iter().find_map(|element| record.first(element)).map(plain).unwrap_or_default()
}

fn marked(output: &Output, snippet: &Snippet) -> String {
    let piece = |(text, fits): &(String, bool)| if *fits { output.mark(&plain(text)) } else { plain(text) };
    snippet.pieces.iter().map(piece).collect()
}

fn facet(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write FACET=VALUE, as in year=2009".to_owned()),
    }
}
