//! The index's fields, and how a record becomes a document of them. Nothing of the text is stored: what is shown comes
//! from the records. How text is cut is `tokenizer`'s; what a query makes of the fields is `compile`'s.

use std::collections::BTreeSet;

use tantivy::schema::{BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::{TantivyDocument, Term};
use zhulu_record::{Element, Key, Language, Record, RecordId, SetName, Value};

use super::date::Days;
use super::place::{self, Rectangle};
use super::tokenizer::TextTokenizer;

/// The names of the facets, in the order they are counted and shown.
pub(super) const FACETS: [&str; 6] = ["kind", "source", "language", "year", "creator", "subject"];

/// The columns the identifier of a hit is read from, in two halves: two numbers cost less than a dictionary of all
/// identifiers.
pub(super) const ID_COLUMNS: [&str; 2] = ["id-high", "id-low"];

/// The column that orders hits when no words say which is better.
pub(super) const DATE_COLUMN: &str = "date-first";

/// A text longer than this is indexed up to here, in bytes: no limit for a book, but one for a log file.
const LONGEST_TEXT: usize = 8 << 20;

/// A value longer than this, in bytes, is no heading to choose by, and is left out of its facet.
const LONGEST_FACET: usize = 240;

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) id: Field,
    id_high: Field,
    id_low: Field,
    pub(super) title: Field,
    pub(super) creator: Field,
    pub(super) subject: Field,
    pub(super) summary: Field,
    pub(super) text: Field,
    pub(super) identifier: Field,
    pub(super) other: Field,
    /// In the order of [`FACETS`].
    pub(super) facets: [Field; FACETS.len()],
    pub(super) language_tag: Field,
    pub(super) set: Field,
    pub(super) date_first: Field,
    pub(super) date_last: Field,
    boxes: Field,
}

impl Fields {
    /// The schema and its fields.
    pub(super) fn schema() -> (Schema, Fields) {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TextTokenizer::NAME)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let exact = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false);
        let label = TextOptions::default().set_indexing_options(exact);
        let facet = label.clone().set_fast("raw");
        let column = NumericOptions::default().set_fast();
        let fields = Fields {
            id: schema.add_bytes_field("id", BytesOptions::default().set_indexed()),
            id_high: schema.add_u64_field(ID_COLUMNS[0], column.clone()),
            id_low: schema.add_u64_field(ID_COLUMNS[1], column.clone()),
            title: schema.add_text_field("title", text.clone()),
            creator: schema.add_text_field("creator", text.clone()),
            subject: schema.add_text_field("subject", text.clone()),
            summary: schema.add_text_field("abstract", text.clone()),
            text: schema.add_text_field("text", text.clone()),
            identifier: schema.add_text_field("identifier", text.clone()),
            other: schema.add_text_field("other", text),
            facets: FACETS.map(|name| schema.add_text_field(&format!("facet-{name}"), facet.clone())),
            language_tag: schema.add_text_field("language-tag", label.clone()),
            set: schema.add_text_field("set", label),
            date_first: schema.add_i64_field(DATE_COLUMN, column.clone()),
            date_last: schema.add_i64_field("date-last", column.clone()),
            boxes: schema.add_f64_field(place::COLUMN, column),
        };
        (schema.build(), fields)
    }

    /// The column of a facet.
    pub(super) fn facet_column(name: &str) -> String {
        format!("facet-{name}")
    }

    /// The field of a facet.
    pub(super) fn facet(&self, name: &str) -> Option<Field> {
        let place = FACETS.iter().position(|facet| *facet == name)?;
        Some(self.facets[place])
    }

    /// The term that only this record has.
    pub(super) fn id_term(&self, id: RecordId) -> Term {
        Term::from_field_bytes(self.id, id.as_bytes())
    }

    /// The document of a record.
    pub(super) fn document(&self, record: &Record) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_bytes(self.id, record.id.as_bytes());
        let bits = u128::from_be_bytes(*record.id.as_bytes());
        document.add_u64(self.id_high, (bits >> 64) as u64);
        document.add_u64(self.id_low, bits as u64);

        let [kind, source, language, year, creator, subject] = self.facets;
        let mut languages = BTreeSet::new();
        let mut spoken = None;
        let mut creators = BTreeSet::new();
        let mut subjects = BTreeSet::new();
        for said in &record.statements {
            let element = &said.statement.element;
            let value = &said.statement.value;
            if *element == Element::BOUNDING_BOX {
                for Rectangle { west, south, east, north } in Rectangle::of_value(value) {
                    [west, south, east, north].into_iter().for_each(|bound| document.add_f64(self.boxes, bound));
                }
                continue;
            }
            if *element == Element::LANGUAGE {
                languages.extend(value.as_text().and_then(language_of));
                continue;
            }
            let field = self.field_of(element);
            if let Some(field) = field {
                each_text(value, &mut |text| {
                    let end = text.floor_char_boundary(LONGEST_TEXT);
                    document.add_text(field, &text[..end]);
                });
            }
            // Statements come in reading order, so this is the language of the first title that has one.
            if let Some(tag) = &said.statement.language
                && field.is_some_and(|field| [self.title, self.summary, self.text].contains(&field))
            {
                spoken = spoken.or_else(|| language_of(tag.tag()));
            }
            let heading = value.as_text().map(str::trim).filter(|text| !text.is_empty() && text.len() <= LONGEST_FACET);
            if *element == Element::CREATOR {
                creators.extend(heading);
            } else if *element == Element::SUBJECT {
                subjects.extend(heading);
            }
        }
        for key in &record.keys {
            if let Key::Oai(text) | Key::Url(text) = key {
                document.add_text(self.identifier, text);
            }
        }

        document.add_text(kind, record.kind.name());
        for voice in record.voices.iter().filter(|voice| voice.live && voice.source.name().len() <= LONGEST_FACET) {
            document.add_text(source, voice.source.name());
        }
        // What the record says of its language counts; only if it says nothing, the language of its words.
        if languages.is_empty() {
            languages.extend(spoken);
        }
        let primaries: BTreeSet<&str> = languages.iter().map(Language::primary).collect();
        primaries.iter().for_each(|primary| document.add_text(language, primary));
        languages.iter().for_each(|tag| document.add_text(self.language_tag, tag.tag().to_lowercase()));
        creators.iter().for_each(|name| document.add_text(creator, name));
        subjects.iter().for_each(|name| document.add_text(subject, name));
        record.sets.iter().map(SetName::name).for_each(|name| document.add_text(self.set, name));
        if let Some(days) = days_of(record) {
            document.add_i64(self.date_first, days.first);
            document.add_i64(self.date_last, days.last);
            document.add_text(year, format!("{:04}", days.year()));
        }
        document
    }

    /// Where the text of an element goes; `None` if nobody would look for it.
    fn field_of(&self, element: &Element) -> Option<Field> {
        Some(match element.name() {
            "title" | "alternative" => self.title,
            "creator" | "contributor" => self.creator,
            "subject" => self.subject,
            "abstract" | "description" => self.summary,
            "text" => self.text,
            "identifier" | "citation" => self.identifier,
            // The same few words in every record: to find them is to find everything.
            "format" | "extent" | "type" => return None,
            _ => self.other,
        })
    }
}

/// The texts of a value, however deep they are.
fn each_text(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::Text(text) => take(text),
        Value::Structure(parts) => parts.values().for_each(|part| each_text(part, take)),
    }
}

/// The language a text names: a tag, an old three-letter code, or its name.
pub(super) fn language_of(text: &str) -> Option<Language> {
    let text = text.trim();
    if text.is_empty() || text.len() > 35 {
        return None;
    }
    let lower = text.to_lowercase();
    Some(Language::new(match lower.as_str() {
        "chi" | "zho" | "chinese" | "中文" | "汉语" | "漢語" | "cmn" => "zh",
        "eng" | "english" | "英文" | "英语" | "英語" => "en",
        "ger" | "deu" | "german" => "de",
        "fre" | "fra" | "french" => "fr",
        "jpn" | "japanese" | "日文" | "日语" => "ja",
        "kor" | "korean" => "ko",
        "rus" | "russian" => "ru",
        "spa" | "spanish" => "es",
        _ => text,
    }))
}

/// When it was published, as far as the record says. Of several plain dates the earliest: repositories also write the
/// days on which they took a paper in, and these come later.
fn days_of(record: &Record) -> Option<Days> {
    let earliest = |elements: &[Element]| {
        let said = record.statements.iter().filter(|said| elements.contains(&said.statement.element));
        said.filter_map(|said| said.statement.value.as_text().and_then(Days::found_in)).min_by_key(|days| days.first)
    };
    earliest(&[Element::ISSUED])
        .or_else(|| earliest(&[Element::DATE, Element::CREATED]))
        .or_else(|| earliest(&[Element::MODIFIED]))
}
