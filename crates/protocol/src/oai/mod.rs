//! OAI-PMH 2.0, both directions: a provider's requests and responses, and a harvester's reading of other people's.
//!
//! [`request`] reads and checks what a harvester asks, [`response`] writes the answer, [`page`] reads an answer. Which records
//! there are, and what time it is, is for the caller to say.

pub mod page;
pub mod request;
pub mod response;

pub use page::{Harvested, Identified, Page, read};
pub use request::{Asked, Request, Selection};
pub use response::{Answer, Envelope, Format, Identify, Item, List, Resume, Set};

/// The namespace of every response.
pub const NAMESPACE: &str = "http://www.openarchives.org/OAI/2.0/";
/// Where its schema is.
pub const SCHEMA: &str = "http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd";

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Who are you?
    Identify,
    /// Which formats do you have?
    ListMetadataFormats,
    /// Which sets do you have?
    ListSets,
    /// Which records, without their metadata.
    ListIdentifiers,
    /// Which records.
    ListRecords,
    /// This record.
    GetRecord,
}

impl Verb {
    /// All six.
    pub const ALL: [Verb; 6] = [
        Verb::Identify,
        Verb::ListMetadataFormats,
        Verb::ListSets,
        Verb::ListIdentifiers,
        Verb::ListRecords,
        Verb::GetRecord,
    ];

    /// As it is written in a request.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Identify => "Identify",
            Verb::ListMetadataFormats => "ListMetadataFormats",
            Verb::ListSets => "ListSets",
            Verb::ListIdentifiers => "ListIdentifiers",
            Verb::ListRecords => "ListRecords",
            Verb::GetRecord => "GetRecord",
        }
    }
}

/// The eight conditions that the protocol knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// An argument is missing, repeated, illegal or unreadable.
    BadArgument,
    /// The token is not one of ours.
    BadResumptionToken,
    /// The verb is missing, repeated or unknown.
    BadVerb,
    /// The record has no such format.
    CannotDisseminateFormat,
    /// No such record.
    IdDoesNotExist,
    /// The list would be empty.
    NoRecordsMatch,
    /// The record has no format at all.
    NoMetadataFormats,
    /// There are no sets.
    NoSetHierarchy,
}

impl Code {
    /// As it is written in a response.
    pub fn name(self) -> &'static str {
        match self {
            Code::BadArgument => "badArgument",
            Code::BadResumptionToken => "badResumptionToken",
            Code::BadVerb => "badVerb",
            Code::CannotDisseminateFormat => "cannotDisseminateFormat",
            Code::IdDoesNotExist => "idDoesNotExist",
            Code::NoRecordsMatch => "noRecordsMatch",
            Code::NoMetadataFormats => "noMetadataFormats",
            Code::NoSetHierarchy => "noSetHierarchy",
        }
    }
}

/// Why a request cannot be answered. Travels inside a response, never as an HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which condition.
    pub code: Code,
    /// What happened and what to do, for a person.
    pub message: String,
}

impl Fault {
    /// A fault with its explanation.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Fault { code, message: message.into() }
    }
}
