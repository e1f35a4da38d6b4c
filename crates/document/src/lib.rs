//! File bytes in, format and facts out: what a document is, what it says of itself, and where on the page it says so.
//!
//! Pure: no file, clock, network or environment is read here, and no bytes make it panic or fail; trouble becomes a
//! [`Warning`](zhulu_record::Warning) beside whatever could be had. Getting the bytes is `gather`'s, keeping the facts
//! is `catalogue`'s. Web pages are `page`'s; this crate only names their format.
//!
//! The callers see three functions: [`identify`], [`extract`] and [`page_image`]. Behind them a format has a reader (`pdf`,
//! `text`) that turns bytes into lines with their looks and place, and `rules` turns lines into statements; a further reader or a
//! trained tagger takes its place between the two without the callers noticing.

mod audio;
mod container;
mod extract;
mod foreign;
mod format;
mod image;
mod language;
mod line;
mod markup;
mod media;
mod office;
mod page_image;
mod pdf;
pub mod pronom;
mod property;
mod rules;
mod text;
mod xmp;

pub use extract::{Document, Method, extract};
pub use format::{Format, identify};
pub use page_image::{MAX_WIDTH, page_image};
pub use pdf::pdf_text;
pub use property::{Property, properties, property};
