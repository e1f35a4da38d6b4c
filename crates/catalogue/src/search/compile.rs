//! From what is asked for to a query of the index: which fields, which terms, and what each is worth.

use std::ops::Bound;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, EnableScoring, Explanation, Occur,
    PhrasePrefixQuery, PhraseQuery, Query, RangeQuery, Scorer, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

use super::date::Days;
use super::place::BoxQuery;
use super::query::{Form, Label, Node, Scope};
use super::schema::Fields;
use super::tokenizer::{Unit, forms_of_prefix, terms, units};

/// What a match in a field is worth. A title names the thing, an abstract tells of it, a full text mentions it.
const TITLE: f32 = 5.0;
const CREATOR: f32 = 3.0;
const SUBJECT: f32 = 3.0;
const ABSTRACT: f32 = 1.5;
const IDENTIFIER: f32 = 1.0;
const TEXT: f32 = 0.7;
const OTHER: f32 = 0.7;

/// Characters side by side that the dictionary does not see as this word (`图书` in `图书馆`) count for less than the word.
const CHARACTERS: f32 = 0.4;

/// A query word found whole counts for more than its parts found apart.
const WHOLE: f32 = 2.0;

/// How many words of the index the last word of a phrase may stand for.
const EXPANSIONS: u32 = 200;

type Boxed = Box<dyn Query>;

/// A query of the index.
pub(super) struct Compiled {
    pub(super) query: Boxed,
    /// Whether there are words in it, by which one record can be better than another.
    pub(super) ranks: bool,
}

/// Compiles a query, with the facets chosen beside it as (field, value).
pub(super) fn compile(node: &Node, chosen: Vec<(Field, String)>, fields: &Fields) -> Compiled {
    let ranks = ranks(node);
    let query = Compiler { fields }.node(node);
    if chosen.is_empty() {
        return Compiled { query, ranks };
    }
    let chosen = chosen.into_iter().map(|(field, value)| (Occur::Must, filter(exact(field, &value))));
    let query = Box::new(BooleanQuery::new([(Occur::Must, query)].into_iter().chain(chosen).collect()));
    Compiled { query, ranks }
}

fn ranks(node: &Node) -> bool {
    match node {
        Node::Text(..) => true,
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(ranks),
        Node::All | Node::Nothing | Node::Not(_) | Node::Label(..) | Node::Date(_) | Node::Box(_) => false,
    }
}

/// A query that says yes or no and adds nothing to the score.
fn filter(query: Boxed) -> Boxed {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn exact(field: Field, value: &str) -> Boxed {
    Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
}

fn boosted(query: impl Query, boost: f32) -> Boxed {
    Box::new(BoostQuery::new(Box::new(query), boost))
}

fn any(mut queries: Vec<Boxed>) -> Boxed {
    match queries.len() {
        1 => queries.remove(0),
        _ => Box::new(BooleanQuery::union(queries)),
    }
}

/// All terms of the field that begin with `prefix`.
fn beginning(field: Field, prefix: &str) -> Boxed {
    let lower = Bound::Included(Term::from_field_text(field, prefix));
    let upper = Bound::Included(Term::from_field_text(field, &format!("{prefix}\u{10FFFF}")));
    Box::new(RangeQuery::new(lower, upper))
}

/// One term.
fn single(field: Field, term: &str, boost: f32) -> Boxed {
    boosted(TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs), boost)
}

/// Terms side by side; one alone is simply looked up.
fn side_by_side(field: Field, terms: &[String], boost: f32) -> Boxed {
    match terms {
        [term] => single(field, term, boost),
        _ => boosted(PhraseQuery::new(terms.iter().map(|term| Term::from_field_text(field, term)).collect()), boost),
    }
}

/// What is excluded. Tantivy asks the excluding side about records before the one it stands at, which its phrases
/// cannot answer (they assert in a debug build, and are not promised to be right in another). This asks them only to go
/// forward.
#[derive(Debug)]
struct Excluded(Boxed);

impl Clone for Excluded {
    fn clone(&self) -> Self {
        Excluded(self.0.box_clone())
    }
}

impl Query for Excluded {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(ExcludedWeight(self.0.weight(scoring)?)))
    }
}

struct ExcludedWeight(Box<dyn Weight>);

impl Weight for ExcludedWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ExcludedScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

/// `seek_danger` is deliberately left to the trait, which looks where it stands before it moves.
struct ExcludedScorer(Box<dyn Scorer>);

impl DocSet for ExcludedScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }
}

impl Scorer for ExcludedScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}

struct Compiler<'f> {
    fields: &'f Fields,
}

impl Compiler<'_> {
    fn node(&self, node: &Node) -> Boxed {
        match node {
            Node::All => Box::new(AllQuery),
            Node::Nothing => Box::new(EmptyQuery),
            Node::And(nodes) => self.all(nodes),
            Node::Or(nodes) => any(nodes.iter().map(|node| self.node(node)).collect()),
            Node::Not(_) => self.all(std::slice::from_ref(node)),
            Node::Text(scope, form, text) => self.text(*scope, *form, text),
            Node::Label(label, value, prefix) => self.label(*label, value, *prefix),
            Node::Date(days) => self.days(*days),
            Node::Box(rectangles) => filter(Box::new(BoxQuery(rectangles.clone()))),
        }
    }

    fn all(&self, nodes: &[Node]) -> Boxed {
        let mut clauses: Vec<(Occur, Boxed)> = Vec::with_capacity(nodes.len() + 1);
        for node in nodes {
            match node {
                Node::Not(inner) => clauses.push((Occur::MustNot, Box::new(Excluded(self.node(inner))))),
                other => clauses.push((Occur::Must, self.node(other))),
            }
        }
        // Nothing is wanted, only something not: of all records.
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    fn scope(&self, scope: Scope) -> Vec<(Field, f32)> {
        let fields = self.fields;
        match scope {
            Scope::Anywhere => vec![
                (fields.title, TITLE),
                (fields.creator, CREATOR),
                (fields.subject, SUBJECT),
                (fields.summary, ABSTRACT),
                (fields.text, TEXT),
                (fields.identifier, IDENTIFIER),
                (fields.other, OTHER),
            ],
            Scope::Title => vec![(fields.title, TITLE)],
            Scope::Creator => vec![(fields.creator, CREATOR)],
            Scope::Subject => vec![(fields.subject, SUBJECT)],
            Scope::Abstract => vec![(fields.summary, ABSTRACT)],
            Scope::Text => vec![(fields.text, TEXT)],
            Scope::Identifier => vec![(fields.identifier, IDENTIFIER)],
        }
    }

    fn text(&self, scope: Scope, form: Form, text: &str) -> Boxed {
        let fields = self.scope(scope);
        match form {
            Form::Words => self.words(&fields, text),
            Form::Phrase => {
                let terms = terms(text);
                any(fields.iter().map(|(field, boost)| side_by_side(*field, &terms, *boost)).collect())
            }
            Form::Prefix => self.prefix(&fields, text),
        }
    }

    fn words(&self, fields: &[(Field, f32)], text: &str) -> Boxed {
        let units = units(text);
        if let [unit] = &units[..] {
            return self.unit(fields, unit);
        }
        let mut clauses: Vec<(Occur, Boxed)> =
            units.iter().map(|unit| (Occur::Must, self.unit(fields, unit))).collect();
        let whole = terms(text);
        let whole = fields.iter().map(|(field, boost)| side_by_side(*field, &whole, boost * WHOLE)).collect();
        clauses.push((Occur::Should, any(whole)));
        Box::new(BooleanQuery::new(clauses))
    }

    fn unit(&self, fields: &[(Field, f32)], unit: &Unit) -> Boxed {
        let mut queries = Vec::with_capacity(fields.len() * 2);
        for (field, boost) in fields {
            match &unit.word {
                Some(word) => {
                    queries.push(single(*field, word, *boost));
                    queries.push(side_by_side(*field, &unit.terms, boost * CHARACTERS));
                }
                None => queries.push(side_by_side(*field, &unit.terms, *boost)),
            }
        }
        any(queries)
    }

    fn prefix(&self, fields: &[(Field, f32)], text: &str) -> Boxed {
        // As typed, not as indexed: the plural ending of half a word is none.
        let folded = super::fold::folded(text);
        let pieces = super::tokenizer::pieces(&folded);
        let (Some(last), Some(first)) = (pieces.last(), pieces.first()) else { return Box::new(EmptyQuery) };
        if last.stands_alone(&folded) {
            // A character is always whole, and what follows it is not asked.
            return self.words(fields, text);
        }
        let prefix = &folded[last.start..last.end];
        let mut queries: Vec<Boxed> = Vec::new();
        for (field, boost) in fields {
            if first == last {
                queries.push(Box::new(BoostQuery::new(beginning(*field, prefix), *boost)));
                for form in forms_of_prefix(prefix) {
                    queries.push(single(*field, &form, *boost));
                }
            } else {
                let before =
                    pieces[..pieces.len() - 1].iter().map(|piece| Term::from_field_text(*field, &piece.term(&folded)));
                let mut phrase =
                    PhrasePrefixQuery::new(before.chain([Term::from_field_text(*field, prefix)]).collect());
                phrase.set_max_expansions(EXPANSIONS);
                queries.push(boosted(phrase, *boost));
            }
        }
        any(queries)
    }

    fn label(&self, label: Label, value: &str, prefix: bool) -> Boxed {
        let [kind, source, language, ..] = self.fields.facets;
        let field = match label {
            Label::Kind => kind,
            Label::Source => source,
            // `zh` is all of Chinese, `zh-hant` only that.
            Label::Language if value.contains('-') => self.fields.language_tag,
            Label::Language => language,
            Label::Set => self.fields.set,
        };
        filter(if prefix { beginning(field, value) } else { exact(field, value) })
    }

    /// A record's date may itself be a month or a year: it fits if it may have been on one of the days.
    fn days(&self, days: Days) -> Boxed {
        let Fields { date_first, date_last, .. } = *self.fields;
        let begins = RangeQuery::new(
            Bound::Included(Term::from_field_i64(date_first, 0)),
            Bound::Included(Term::from_field_i64(date_first, days.last)),
        );
        let ends = RangeQuery::new(
            Bound::Included(Term::from_field_i64(date_last, days.first)),
            Bound::Included(Term::from_field_i64(date_last, Days::ALL.last)),
        );
        filter(Box::new(BooleanQuery::intersection(vec![Box::new(begins), Box::new(ends)])))
    }
}
