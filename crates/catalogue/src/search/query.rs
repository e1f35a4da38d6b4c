//! The query language: text as a person types it → what is asked for. It forgives what it can (a quote or bracket that
//! is never closed is text) and refuses only what it would have to guess at. `docs/search.md` explains it to users;
//! what is done with the answer is `compile`'s and `highlight`'s.

use zhulu_record::Kind;

use super::date::Days;
use super::fold::folded;
use super::place::Rectangle;
use super::tokenizer::is_searchable;
use crate::error::Error;

/// Longer than anybody types; a query's cost grows with its length.
const LONGEST_QUERY: usize = 2_000;

/// Brackets nested deeper than this are no longer brackets.
const DEEPEST: usize = 16;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// Every record.
    All,
    /// None: there was text, but nothing in it to search for.
    Nothing,
    /// All of these.
    And(Vec<Node>),
    /// Any of these.
    Or(Vec<Node>),
    /// All but these.
    Not(Box<Node>),
    /// Text in a field.
    Text(Scope, Form, String),
    /// An exact value of a label; with `true` all that begin with it.
    Label(Label, String, bool),
    /// A date among these days.
    Date(Days),
    /// A box that meets these.
    Box(Vec<Rectangle>),
}

/// Where text is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Anywhere,
    Title,
    Creator,
    Subject,
    Abstract,
    Text,
    Identifier,
}

/// How text is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its words.
    Words,
    /// Its words in this order, side by side.
    Phrase,
    /// Its last word may go on.
    Prefix,
}

/// A label that every record has or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Kind,
    Source,
    Language,
    Set,
}

enum Name {
    Scope(Scope),
    Label(Label),
    Date,
    Box,
}

fn name_of(text: &str) -> Option<Name> {
    Some(match folded(text).as_str() {
        "title" | "题名" | "标题" => Name::Scope(Scope::Title),
        "creator" | "author" | "作者" | "责任者" => Name::Scope(Scope::Creator),
        "subject" | "keyword" | "keywords" | "关键词" | "主题" => Name::Scope(Scope::Subject),
        "abstract" | "description" | "摘要" => Name::Scope(Scope::Abstract),
        "text" | "全文" | "正文" => Name::Scope(Scope::Text),
        "identifier" | "doi" | "isbn" | "标识符" => Name::Scope(Scope::Identifier),
        "kind" | "类型" => Name::Label(Label::Kind),
        "source" | "来源" => Name::Label(Label::Source),
        "lang" | "language" | "语言" | "语种" => Name::Label(Label::Language),
        "set" | "集合" => Name::Label(Label::Set),
        "date" | "year" | "日期" | "年份" => Name::Date,
        "bbox" | "范围" => Name::Box,
        _ => return None,
    })
}

/// Reads a query.
pub(super) fn parse(text: &str) -> Result<Node, Error> {
    let characters: Vec<char> = text.chars().collect();
    if characters.iter().all(|c| c.is_whitespace()) {
        return Ok(Node::All);
    }
    let mut parser = Parser { text, characters, at: 0 };
    if parser.characters.len() > LONGEST_QUERY {
        let reason = format!("it has {} characters, and {LONGEST_QUERY} is the most", parser.characters.len());
        return Err(Error::Query { query: text.chars().take(80).chain(['…']).collect(), reason });
    }
    Ok(parser.any(Scope::Anywhere, 0)?.unwrap_or(Node::Nothing))
}

struct Parser<'t> {
    text: &'t str,
    characters: Vec<char>,
    at: usize,
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '＂' | '„' | '「' | '」')
}

fn is_open(c: char) -> bool {
    matches!(c, '(' | '（')
}

fn is_close(c: char) -> bool {
    matches!(c, ')' | '）')
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || is_open(c) || is_close(c)
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Takes a whole word, if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let end = self.at + word.chars().count();
        let same = word.chars().eq(self.characters.iter().skip(self.at).take(end - self.at).copied());
        let whole = self.characters.get(end).is_none_or(|c| ends_word(*c));
        if same && whole {
            self.at = end;
        }
        same && whole
    }

    fn refuse(&self, at: usize, what: String, hint: &str) -> Error {
        Error::Query { query: self.text.to_owned(), reason: format!("at character {}: {what}; {hint}", at + 1) }
    }

    /// Alternatives: what stands between `OR`s.
    fn any(&mut self, scope: Scope, depth: usize) -> Result<Option<Node>, Error> {
        let mut alternatives = Vec::new();
        loop {
            alternatives.extend(self.all(scope, depth)?);
            if !(self.take("OR") || self.take("||") || self.take("|")) {
                break;
            }
        }
        Ok(match alternatives.len() {
            0 | 1 => alternatives.pop(),
            _ => Some(Node::Or(alternatives)),
        })
    }

    /// What stands side by side, up to `OR`, the end of the brackets or the end.
    fn all(&mut self, scope: Scope, depth: usize) -> Result<Option<Node>, Error> {
        let mut nodes = Vec::new();
        loop {
            self.skip_space();
            let here = self.at;
            match self.peek() {
                None => break,
                Some(c) if is_close(c) && depth > 0 => break,
                // A bracket that closes nothing.
                Some(c) if is_close(c) => self.at += 1,
                _ if self.take("OR") || self.take("||") || self.take("|") => {
                    self.at = here;
                    break;
                }
                _ if self.take("AND") || self.take("&&") => {}
                _ => nodes.extend(self.one(scope, depth)?),
            }
        }
        Ok(match nodes.len() {
            0 | 1 => nodes.pop(),
            _ => Some(Node::And(nodes)),
        })
    }

    fn one(&mut self, scope: Scope, depth: usize) -> Result<Option<Node>, Error> {
        if self.take("NOT") {
            self.skip_space();
            if self.peek().is_none_or(is_close) {
                // Nothing follows: it is the word.
                return Ok(Some(Node::Text(scope, Form::Words, "not".to_owned())));
            }
            if depth < DEEPEST {
                return Ok(self.one(scope, depth + 1)?.map(|node| Node::Not(Box::new(node))));
            }
        }
        if self.peek() == Some('-') {
            self.at += 1;
            let next = self.peek();
            if next.is_some_and(|c| !c.is_whitespace() && c != '-' && !is_close(c)) {
                return Ok(self.thing(scope, depth)?.map(|node| Node::Not(Box::new(node))));
            }
            // A dash among words.
            return Ok(None);
        }
        self.thing(scope, depth)
    }

    /// Brackets, a phrase, a field or a word. Always takes at least one character.
    fn thing(&mut self, scope: Scope, depth: usize) -> Result<Option<Node>, Error> {
        let Some(c) = self.peek() else { return Ok(None) };
        if is_open(c) {
            self.at += 1;
            if depth >= DEEPEST {
                return Ok(None);
            }
            let inner = self.any(scope, depth + 1)?;
            if self.peek().is_some_and(is_close) {
                self.at += 1;
            }
            return Ok(inner);
        }
        if is_quote(c) {
            return Ok(self.quoted().and_then(|text| text_node(scope, Form::Phrase, text)));
        }
        if is_close(c) {
            self.at += 1;
            return Ok(None);
        }
        let start = self.at;
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            self.at += 1;
            if matches!(c, ':' | '：') {
                let name: String = self.characters[start..self.at - 1].iter().collect();
                if let Some(name) = name_of(&name) {
                    let after_colon = self.at;
                    match self.field(name, depth)? {
                        Some(node) => return Ok(Some(node)),
                        // Nothing follows that it could hold: it is a word with a colon.
                        None => self.at = after_colon,
                    }
                }
            }
        }
        let word: String = self.characters[start..self.at].iter().collect();
        Ok(word_node(scope, word))
    }

    /// The text in quotes, from its opening quote. A quote that is never closed is passed over, and what follows is
    /// words.
    fn quoted(&mut self) -> Option<String> {
        let start = self.at + 1;
        self.at = start;
        let length = self.characters[start..].iter().position(|c| is_quote(*c))?;
        self.at = start + length + 1;
        Some(self.characters[start..start + length].iter().collect())
    }

    /// What follows a field's name. `None` if it is nothing to search for.
    fn field(&mut self, name: Name, depth: usize) -> Result<Option<Node>, Error> {
        self.skip_space();
        let start = self.at;
        match name {
            Name::Scope(scope) => match self.peek() {
                None => Ok(None),
                Some(c) if is_close(c) => Ok(None),
                Some(c) if is_open(c) || is_quote(c) => self.thing(scope, depth),
                Some(_) => {
                    let word = self.raw();
                    Ok(word_node(scope, word))
                }
            },
            Name::Label(label) => {
                let value = self.value();
                if value.is_empty() {
                    return Ok(None);
                }
                let (value, prefix) = match value.strip_suffix(['*', '＊']) {
                    Some(stem) => (stem.to_owned(), true),
                    None => (value, false),
                };
                match label {
                    Label::Kind => {
                        let value = folded(&value);
                        if !prefix && value.parse::<Kind>().is_err() {
                            let kinds = Kind::ALL.map(Kind::name).join(", ");
                            return Err(self.refuse(
                                start,
                                format!("{value:?} is no kind"),
                                &format!("the kinds are {kinds}"),
                            ));
                        }
                        Ok(Some(Node::Label(label, value, prefix)))
                    }
                    Label::Language => {
                        let tag = super::schema::language_of(&value);
                        Ok(tag.map(|tag| Node::Label(label, tag.tag().to_lowercase(), prefix)))
                    }
                    Label::Source | Label::Set => Ok(Some(Node::Label(label, value, prefix))),
                }
            }
            Name::Date => {
                let value = folded(&self.value());
                self.dates(start, &value).map(|days| Some(Node::Date(days)))
            }
            Name::Box => {
                let value = folded(&self.value());
                self.rectangles(start, &value).map(|rectangles| Some(Node::Box(rectangles)))
            }
        }
    }

    /// A value as it stands, in quotes or up to the next space.
    fn value(&mut self) -> String {
        if self.peek().is_some_and(is_quote)
            && let Some(text) = self.quoted()
        {
            return text;
        }
        self.raw()
    }

    fn raw(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| !ends_word(c)) {
            self.at += 1;
        }
        self.characters[start..self.at].iter().collect()
    }

    fn dates(&self, start: usize, value: &str) -> Result<Days, Error> {
        let hint = "write date:2007, date:2001..2009, date:2005-03.. or date:..2005-03-31";
        let read =
            |part: &str| Days::exact(part).ok_or_else(|| self.refuse(start, format!("{part:?} is no date"), hint));
        let days = match value.split_once("..") {
            None => read(value)?,
            Some(("", "")) => return Err(self.refuse(start, "a range needs a beginning or an end".to_owned(), hint)),
            Some((first, "")) => Days { first: read(first)?.first, ..Days::ALL },
            Some(("", last)) => Days { last: read(last)?.last, ..Days::ALL },
            Some((first, last)) => Days { first: read(first)?.first, last: read(last)?.last },
        };
        if days.first > days.last {
            return Err(self.refuse(start, format!("{value:?} ends before it begins"), hint));
        }
        Ok(days)
    }

    fn rectangles(&self, start: usize, value: &str) -> Result<Vec<Rectangle>, Error> {
        let hint = "write bbox:west,south,east,north in degrees and without spaces, as bbox:73,18,135,54";
        let bounds: Vec<Option<f64>> = value.split(',').map(|bound| bound.parse().ok()).collect();
        let [Some(west), Some(south), Some(east), Some(north)] = bounds[..] else {
            return Err(self.refuse(start, format!("{value:?} is not four numbers"), hint));
        };
        Rectangle::of_box(west, south, east, north).map_err(|wrong| self.refuse(start, wrong.to_owned(), hint))
    }
}

fn text_node(scope: Scope, form: Form, text: String) -> Option<Node> {
    is_searchable(&text).then_some(Node::Text(scope, form, text))
}

fn word_node(scope: Scope, word: String) -> Option<Node> {
    match word.strip_suffix(['*', '＊']) {
        Some("") => Some(Node::All),
        Some(stem) => text_node(scope, Form::Prefix, stem.to_owned()),
        None => text_node(scope, Form::Words, word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Node {
        Node::Text(Scope::Anywhere, Form::Words, text.to_owned())
    }

    #[test]
    fn the_language_reads_as_its_page_says() {
        use Node::{And, Not, Or};
        let phrase = |text: &str| Node::Text(Scope::Anywhere, Form::Phrase, text.to_owned());
        let title = |text: &str| Node::Text(Scope::Title, Form::Words, text.to_owned());
        let not = |node| Not(Box::new(node));
        for (text, expected) in [
            ("  ", Node::All),
            ("*", Node::All),
            ("。", Node::Nothing),
            ("a b", And(vec![word("a"), word("b")])),
            ("a AND b", And(vec![word("a"), word("b")])),
            ("a OR b c", Or(vec![word("a"), And(vec![word("b"), word("c")])])),
            ("(a OR b) c", And(vec![Or(vec![word("a"), word("b")]), word("c")])),
            ("（a OR b） c", And(vec![Or(vec![word("a"), word("b")]), word("c")])),
            ("a -b", And(vec![word("a"), not(word("b"))])),
            ("a NOT b", And(vec![word("a"), not(word("b"))])),
            ("meta-data", word("meta-data")),
            ("a - b", And(vec![word("a"), word("b")])),
            ("\"a b\"", phrase("a b")),
            ("“a b”", phrase("a b")),
            ("\"a b", And(vec![word("a"), word("b")])),
            ("(a b", And(vec![word("a"), word("b")])),
            ("a) b", And(vec![word("a"), word("b")])),
            ("OR", Node::Nothing),
            ("OR a", word("a")),
            ("a OR", word("a")),
            ("NOT", word("not")),
            ("and or not", And(vec![word("and"), word("or"), word("not")])),
            ("dat*", Node::Text(Scope::Anywhere, Form::Prefix, "dat".to_owned())),
            ("title:a", title("a")),
            ("Title: a", title("a")),
            ("题名：图书", title("图书")),
            ("標題:圖書", title("圖書")),
            ("title:(a b)", And(vec![title("a"), title("b")])),
            ("title:\"a b\"", Node::Text(Scope::Title, Form::Phrase, "a b".to_owned())),
            ("title:", word("title:")),
            ("http://a.org/x", word("http://a.org/x")),
            ("doi:10.1000/182", Node::Text(Scope::Identifier, Form::Words, "10.1000/182".to_owned())),
            ("kind:Dataset", Node::Label(Label::Kind, "dataset".to_owned(), false)),
            ("source:\"my folder\"", Node::Label(Label::Source, "my folder".to_owned(), false)),
            ("source:https://a.org/*", Node::Label(Label::Source, "https://a.org/".to_owned(), true)),
            ("lang:chi", Node::Label(Label::Language, "zh".to_owned(), false)),
            ("date:2007", Node::Date(Days { first: 20070101, last: 20071231 })),
            ("date:2001..2009", Node::Date(Days { first: 20010101, last: 20091231 })),
            ("日期：2005-03..", Node::Date(Days { first: 20050301, ..Days::ALL })),
            ("date:..2005", Node::Date(Days { last: 20051231, ..Days::ALL })),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_would_have_to_be_guessed_is_refused_with_its_place() {
        for (text, place) in [
            ("date:abc..x", "at character 6"),
            ("a date:", "at character 8"),
            ("date:2009..2001", "ends before it begins"),
            ("date:2001-2009", "write date:2007, date:2001..2009"),
            ("date:..", "needs a beginning"),
            ("bbox:1,2,3", "not four numbers"),
            ("bbox:1,50,3,40", "south is greater than north"),
            ("bbox:1,2,NaN,4", "no number"),
            ("kind:paper", "the kinds are document"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, Error::Query { .. }));
            assert!(error.to_string().contains(place), "{text}: {error}");
        }
        assert!(parse(&"字".repeat(LONGEST_QUERY + 1)).is_err());
        assert!(parse(&"(".repeat(LONGEST_QUERY)).is_ok());
        assert!(parse(&"NOT ".repeat(LONGEST_QUERY / 4)).is_ok());
    }
}
