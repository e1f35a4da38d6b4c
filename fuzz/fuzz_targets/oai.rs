//! Any bytes read as an OAI-PMH response: no panic, no endless loop, and what was read stands alone.
//!
//! The first byte chooses whether the rest is the whole response or one record's metadata inside a good one, so that the
//! reader of records is reached as well as the reader of responses. Requests are read from the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_protocol::{dublin_core, oai, token};

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let page = if choice % 2 == 0 {
        oai::read(bytes)
    } else {
        let around = (
            &b"<OAI-PMH><ListRecords><record><header><identifier>a</identifier></header><metadata>"[..],
            &b"</metadata></record></ListRecords></OAI-PMH>"[..],
        );
        oai::read(&[around.0, bytes, around.1].concat())
    };
    for record in &page.records {
        assert!(!record.identifier.is_empty());
        if let Some(metadata) = &record.metadata {
            // What was collected is whole: reading it again gives the same statements and no complaint about its form.
            let (statements, warnings) = dublin_core::read(metadata);
            assert_eq!(statements, record.statements);
            assert!(warnings.is_empty(), "{warnings:?}");
        }
        dublin_core::write(&record.statements);
    }
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let asked = oai::request::parse(pairs);
    assert_eq!(asked.request.is_err(), asked.echo.is_empty());
    assert!(token::TokenKey::new(b"key").open(&text).is_none());
});
