//! The service as its clients see it: requests in process, against a catalogue in a temporary folder, with a fixed clock.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod api;
mod fixture;
mod health;
mod oai;
mod portal;
