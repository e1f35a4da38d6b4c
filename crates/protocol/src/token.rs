//! Resumption tokens that need no memory on the server: the whole request and the place in the list, signed.
//!
//! A token survives a restart and works on every server that has the key. It names its place by key, (datestamp, identifier),
//! so going on from it costs the same at any depth and nothing is skipped when records before it change.

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zhulu_record::{Datestamp, RecordId, SetName};

use crate::oai::Verb;

/// What a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumption {
    /// The verb it belongs to.
    pub verb: Verb,
    /// The format asked for.
    pub prefix: String,
    /// Changed at or after this.
    pub from: Option<Datestamp>,
    /// Changed at or before this. Always given: a list ends where the log stood when it was begun, so that it does end.
    pub until: Datestamp,
    /// In this set.
    pub set: Option<SetName>,
    /// The datestamp of the last record sent.
    pub datestamp: Datestamp,
    /// Its identifier.
    pub record: RecordId,
    /// How many records were sent before.
    pub cursor: u64,
    /// How many the list had when it was begun.
    pub complete_list_size: u64,
    /// The `responseDate` of the list's first response. All its responses carry this one: a harvester may remember any of
    /// them, and what changed while the list was being read has a later datestamp than the first.
    pub response_date: Datestamp,
}

/// The key that tokens are signed with.
#[derive(Clone)]
pub struct TokenKey(Hmac<Sha256>);

/// 128 bits are more than anyone can guess, and keep the token short.
const SIGNATURE: usize = 16;
/// The form of the payload; a token of another form is refused like a forged one.
const FORM: &str = "1";

impl TokenKey {
    /// A key from secret bytes; any number will do, 32 random ones are right.
    pub fn new(secret: &[u8]) -> Self {
        TokenKey(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    fn sign(&self, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        // What is signed says what it is for: a signature over anything else with the same key does not fit.
        mac.update(b"resumption\0");
        mac.update(payload);
        mac
    }

    /// The token.
    pub fn seal(&self, resumption: &Resumption) -> String {
        let Resumption { verb, prefix, from, until, set, datestamp, record, cursor, complete_list_size, response_date } =
            resumption;
        // No field can hold a blank: prefixes and sets are checked for that when they are read. What is absent is empty.
        let payload = format!(
            "{FORM} {} {prefix} {} {} {} {} {record} {cursor} {complete_list_size} {}",
            verb.name(),
            from.map_or(String::new(), |from| from.seconds().to_string()),
            until.seconds(),
            set.as_ref().map_or("", SetName::name),
            datestamp.seconds(),
            response_date.seconds(),
        );
        let signature = self.sign(payload.as_bytes()).finalize().into_bytes();
        BASE64URL_NOPAD.encode(&[&signature[..SIGNATURE], payload.as_bytes()].concat())
    }

    /// What the token stands for; `None` if it was not made with this key, or not by this version.
    pub fn open(&self, token: &str) -> Option<Resumption> {
        let bytes = BASE64URL_NOPAD.decode(token.trim().as_bytes()).ok()?;
        let (signature, payload) = bytes.split_at_checked(SIGNATURE)?;
        self.sign(payload).verify_truncated_left(signature).ok()?;
        let payload = std::str::from_utf8(payload).ok()?;
        let fields: Vec<&str> = payload.split(' ').collect();
        let [FORM, verb, prefix, from, until, set, datestamp, record, cursor, size, response_date] = fields[..] else {
            return None;
        };
        let datestamp_of = |text: &str| text.parse().ok().map(Datestamp::from_seconds);
        Some(Resumption {
            verb: Verb::ALL.into_iter().find(|known| known.name() == verb)?,
            prefix: prefix.to_owned(),
            from: if from.is_empty() { None } else { Some(datestamp_of(from)?) },
            until: datestamp_of(until)?,
            set: if set.is_empty() { None } else { Some(set.parse().ok()?) },
            datestamp: datestamp_of(datestamp)?,
            record: record.parse().ok()?,
            cursor: cursor.parse().ok()?,
            complete_list_size: size.parse().ok()?,
            response_date: datestamp_of(response_date)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumption() -> Resumption {
        Resumption {
            verb: Verb::ListRecords,
            prefix: "oai_dc".into(),
            from: None,
            until: Datestamp::from_seconds(1_000_000_000),
            set: Some("kind:document".parse().unwrap()),
            datestamp: Datestamp::from_seconds(-1),
            record: RecordId::from_bytes([7; 16]),
            cursor: 100,
            complete_list_size: 12_345,
            response_date: Datestamp::from_seconds(1_000_000_001),
        }
    }

    #[test]
    fn a_token_comes_back_as_it_went() {
        let key = TokenKey::new(b"secret");
        let token = key.seal(&resumption());
        assert_eq!(key.open(&token), Some(resumption()));
        assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "fit for a URL as it is");
    }

    #[test]
    fn no_token_but_ours_is_taken() {
        let key = TokenKey::new(b"secret");
        let token = key.seal(&resumption());
        assert_eq!(TokenKey::new(b"other").open(&token), None);
        for place in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            // The last character of base64 may carry bits that mean nothing; decoding refuses those.
            assert_eq!(key.open(&forged), None, "{place}");
        }
        for wrong in ["", "x", "中文", &token[..20]] {
            assert_eq!(key.open(wrong), None, "{wrong}");
        }
    }
}
