//! Reading a harvester's request, with every error condition that can be told from the request alone.
//!
//! Whether an identifier, format, set or token is one of ours is for the caller to find out.

use zhulu_record::{Datestamp, SetName};

use super::{Code, Fault, Verb};

/// The arguments there are.
const ARGUMENTS: [&str; 6] = ["identifier", "metadataPrefix", "from", "until", "set", "resumptionToken"];

/// A request that makes sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Who are you?
    Identify,
    /// Which formats, of this record or of all.
    ListMetadataFormats {
        /// Only of this record.
        identifier: Option<String>,
    },
    /// Which sets.
    ListSets,
    /// One record.
    GetRecord {
        /// Which.
        identifier: String,
        /// In which format.
        prefix: String,
    },
    /// `ListRecords` or `ListIdentifiers`, from the start.
    List {
        /// Which of the two.
        verb: Verb,
        /// What is asked for.
        selection: Selection,
    },
    /// The list that a token stands for, from where it stopped.
    Resume {
        /// `ListRecords`, `ListIdentifiers` or `ListSets`.
        verb: Verb,
        /// As it was given; not looked into yet.
        token: String,
    },
}

/// Which records in which format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The format.
    pub prefix: String,
    /// Changed at or after this.
    pub from: Option<Datestamp>,
    /// Changed at or before this. A day given as `until` ends with its last second.
    pub until: Option<Datestamp>,
    /// In this set.
    pub set: Option<SetName>,
}

/// What was asked, and what of it the response must repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The request, or everything that is wrong with it.
    pub request: Result<Request, Vec<Fault>>,
    /// The arguments that the response's `request` element repeats; none when verb or arguments are bad.
    pub echo: Vec<(&'static str, String)>,
}

/// Reads a request from its arguments, decoded, in the order they came.
pub fn parse<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> Asked {
    let mut verbs = Vec::new();
    let mut given: Vec<(&'static str, String)> = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in pairs {
        if name == "verb" {
            verbs.push(value);
        } else if let Some(name) = ARGUMENTS.iter().find(|known| **known == name) {
            if given.iter().any(|(seen, _)| seen == name) {
                faults.push(Fault::new(Code::BadArgument, format!("the argument {name} is given more than once")));
            } else {
                given.push((name, value.to_owned()));
            }
        } else {
            faults.push(Fault::new(Code::BadArgument, format!("{:?} is no argument of OAI-PMH", short(name))));
        }
    }
    let verb = match verbs[..] {
        [] => Err("the verb is missing".to_owned()),
        [name] => Verb::ALL.into_iter().find(|verb| verb.name() == name).ok_or_else(|| {
            let names = Verb::ALL.map(Verb::name).join(", ");
            format!("{:?} is no verb; the verbs are {names} (capitals matter)", short(name))
        }),
        _ => Err("the verb is given more than once".to_owned()),
    };
    let verb = match verb {
        Ok(verb) => verb,
        Err(message) => return Asked { request: Err(vec![Fault::new(Code::BadVerb, message)]), echo: Vec::new() },
    };
    let request = Arguments { verb, given: &given, faults }.request();
    let echo = if request.is_ok() {
        std::iter::once(("verb", verb.name().to_owned())).chain(given).collect()
    } else {
        Vec::new()
    };
    Asked { request, echo }
}

/// A piece of foreign text fit for a message.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

struct Arguments<'a> {
    verb: Verb,
    given: &'a [(&'static str, String)],
    faults: Vec<Fault>,
}

impl Arguments<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone())
    }

    fn bad(&mut self, message: impl Into<String>) {
        self.faults.push(Fault::new(Code::BadArgument, message));
    }

    fn required(&mut self, name: &str) -> String {
        match self.get(name) {
            Some(value) if !value.is_empty() => value,
            _ => {
                self.bad(format!("{} needs the argument {name}", self.verb.name()));
                String::new()
            }
        }
    }

    /// Faults every argument the verb does not take.
    fn allow(&mut self, allowed: &[&str]) {
        let verb = self.verb.name();
        for (name, _) in self.given {
            if !allowed.contains(name) {
                self.bad(format!("{verb} does not take the argument {name}"));
            }
        }
    }

    fn request(mut self) -> Result<Request, Vec<Fault>> {
        let lists = matches!(self.verb, Verb::ListRecords | Verb::ListIdentifiers | Verb::ListSets);
        let request = match (self.verb, self.get("resumptionToken")) {
            (verb, Some(token)) if lists => {
                if self.given.len() > 1 {
                    self.bad("resumptionToken excludes every other argument");
                }
                Request::Resume { verb, token }
            }
            (Verb::Identify, _) => {
                self.allow(&[]);
                Request::Identify
            }
            (Verb::ListMetadataFormats, _) => {
                self.allow(&["identifier"]);
                Request::ListMetadataFormats { identifier: self.get("identifier") }
            }
            (Verb::ListSets, None) => {
                self.allow(&["resumptionToken"]);
                Request::ListSets
            }
            (Verb::GetRecord, _) => {
                self.allow(&["identifier", "metadataPrefix"]);
                let identifier = self.required("identifier");
                let prefix = self.prefix();
                Request::GetRecord { identifier, prefix }
            }
            (verb, _) => {
                self.allow(&["metadataPrefix", "from", "until", "set"]);
                let selection = self.selection();
                Request::List { verb, selection }
            }
        };
        if self.faults.is_empty() { Ok(request) } else { Err(self.faults) }
    }

    fn prefix(&mut self) -> String {
        let prefix = self.required("metadataPrefix");
        if !prefix.chars().all(|c| c.is_ascii_alphanumeric() || "-_.!~*'()".contains(c)) {
            self.bad("metadataPrefix holds characters that no prefix has; ListMetadataFormats tells the formats");
        }
        prefix
    }

    fn selection(&mut self) -> Selection {
        let prefix = self.prefix();
        let from = self.bound("from");
        let until = self.bound("until");
        if let (Some(from), Some(until)) = (&from, &until) {
            if from.day != until.day {
                self.bad("from and until have different granularities; write both as YYYY-MM-DD or both as YYYY-MM-DDThh:mm:ssZ");
            } else if from.first > until.last {
                self.bad("from is later than until");
            }
        }
        let set = self.get("set").and_then(|text| match text.parse::<SetName>() {
            Ok(set) => Some(set),
            Err(error) => {
                self.bad(error.to_string());
                None
            }
        });
        Selection { prefix, from: from.map(|bound| bound.first), until: until.map(|bound| bound.last), set }
    }

    fn bound(&mut self, name: &str) -> Option<Bound> {
        let text = self.get(name)?;
        let bound = Bound::parse(&text);
        if bound.is_none() {
            self.bad(format!("{name} is {:?}; write YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ", short(&text)));
        }
        bound
    }
}

/// The seconds that a `from` or `until` names: one, or a whole day.
struct Bound {
    first: Datestamp,
    last: Datestamp,
    day: bool,
}

impl Bound {
    fn parse(text: &str) -> Option<Bound> {
        if let Ok(second) = text.parse() {
            return Some(Bound { first: second, last: second, day: false });
        }
        // Exactly ten characters: jiff would read other forms of a date too.
        if text.len() != 10 || !text.is_ascii() {
            return None;
        }
        let first: Datestamp = format!("{text}T00:00:00Z").parse().ok()?;
        Some(Bound { first, last: Datestamp::from_seconds(first.seconds() + 86_399), day: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Asked {
        parse(query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, ""))))
    }

    fn codes(query: &str) -> Vec<Code> {
        ask(query).request.err().unwrap_or_default().into_iter().map(|fault| fault.code).collect()
    }

    #[test]
    fn bad_verbs() {
        for query in ["", "verb=", "verb=listrecords", "verb=Identify&verb=Identify", "metadataPrefix=oai_dc"] {
            assert_eq!(codes(query), [Code::BadVerb], "{query}");
            assert!(ask(query).echo.is_empty());
        }
    }

    #[test]
    fn bad_arguments() {
        for query in [
            "verb=Identify&set=a",
            "verb=Identify&x=y",
            "verb=Identify&resumptionToken=t",
            "verb=ListRecords",
            "verb=ListRecords&metadataPrefix=",
            "verb=ListRecords&metadataPrefix=a%20b",
            "verb=ListRecords&metadataPrefix=oai_dc&metadataPrefix=oai_dc",
            "verb=ListRecords&metadataPrefix=oai_dc&from=2000-01-01&until=2000-01-02T00:00:00Z",
            "verb=ListRecords&metadataPrefix=oai_dc&from=2000-01-02&until=2000-01-01",
            "verb=ListRecords&metadataPrefix=oai_dc&from=2000-02-30",
            "verb=ListRecords&metadataPrefix=oai_dc&from=20000101T0",
            "verb=ListRecords&metadataPrefix=oai_dc&from=",
            "verb=ListRecords&metadataPrefix=oai_dc&set=a::b",
            "verb=ListRecords&metadataPrefix=oai_dc&resumptionToken=t",
            "verb=ListRecords&metadataPrefix=oai_dc&identifier=a",
            "verb=GetRecord&metadataPrefix=oai_dc",
            "verb=ListSets&from=2000-01-01",
        ] {
            assert_eq!(codes(query), [Code::BadArgument], "{query}");
            assert!(ask(query).echo.is_empty(), "{query}");
        }
        assert_eq!(codes("verb=GetRecord").len(), 2, "every fault is told, not only the first");
    }

    #[test]
    fn good_requests() {
        assert_eq!(ask("verb=Identify").request, Ok(Request::Identify));
        assert_eq!(ask("verb=ListMetadataFormats").request, Ok(Request::ListMetadataFormats { identifier: None }));
        let resume = Request::Resume { verb: Verb::ListSets, token: "t".into() };
        assert_eq!(ask("verb=ListSets&resumptionToken=t").request, Ok(resume));
        let asked = ask("set=kind:page&from=2000-01-01&verb=ListRecords&metadataPrefix=oai_dc&until=2000-01-01");
        let Ok(Request::List { verb: Verb::ListRecords, selection }) = asked.request else { panic!("{asked:?}") };
        assert_eq!(selection.from.unwrap().to_string(), "2000-01-01T00:00:00Z");
        assert_eq!(selection.until.unwrap().to_string(), "2000-01-01T23:59:59Z", "a day as until is the whole day");
        assert_eq!(asked.echo[0], ("verb", "ListRecords".to_owned()));
        assert_eq!(asked.echo.len(), 5);
    }
}
