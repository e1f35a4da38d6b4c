//! The catalogue as the rest of the program sees it: a store, its blobs and its index, held together.
//!
//! Everything is read through [`Catalogue::store`], [`Catalogue::blobs`] and the methods here that need more than one of them.

use std::sync::Arc;
use std::time::Duration;

use zhulu_record::{Element, Put, RecordId, Statement};

use crate::address::Settings;
use crate::blob::Blobs;
use crate::error::Error;
use crate::row::{Batch, Receipt, Stored};
use crate::search::{Index, Query, Results};
use crate::store::Store;

/// A catalogue, open. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Catalogue {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    store: Box<dyn Store>,
    blobs: Blobs,
    index: Index,
}

impl Catalogue {
    /// Opens the catalogue, making it if it is not there, bringing an older stored form up to date.
    pub async fn open(settings: Settings) -> Result<Catalogue, Error> {
        let _ = settings;
        todo!()
    }

    /// What it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The log and what is derived from it.
    pub fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// Files and responses.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Appends changes. When this returns they are durable.
    pub async fn append(&self, batch: Batch) -> Result<Receipt, Error> {
        self.store().append(batch).await
    }

    /// One record; a record merged into another leads to that one.
    pub async fn record(&self, id: RecordId) -> Result<Option<Stored>, Error> {
        let _ = id;
        todo!()
    }

    /// A person's edit: the new values of elements (an empty list says the element has none). One entry for each element,
    /// replacing what now stands there, so that a concurrent edit of the same element is seen as a conflict.
    pub async fn edit(&self, id: RecordId, person: &str, edits: Vec<(Element, Vec<Statement>)>) -> Result<Receipt, Error> {
        let _ = (id, person, edits);
        todo!()
    }

    /// A person removes a record.
    pub async fn delete(&self, id: RecordId) -> Result<Receipt, Error> {
        let _ = id;
        todo!()
    }

    /// A person gives elements (none named: the whole record) back to the machines.
    pub async fn release(&self, id: RecordId, elements: Vec<Element>) -> Result<Receipt, Error> {
        let _ = (id, elements);
        todo!()
    }

    /// A person makes a record from nothing.
    pub async fn create(&self, person: &str, put: Put) -> Result<RecordId, Error> {
        let _ = (person, put);
        todo!()
    }

    /// Legal removal: values, blobs, index and history go, here and (through the log) on every node; a marker stays.
    pub async fn erase(&self, id: RecordId) -> Result<Receipt, Error> {
        let _ = id;
        todo!()
    }

    /// Asks the index. With `after`, waits (a few seconds at most) until that entry of the log is in it.
    pub async fn search(&self, query: Query, after: Option<u64>) -> Result<Results, Error> {
        let _ = (query, after);
        todo!()
    }

    /// Brings the index up to the log's end; returns how many entries were new to it. Another process may hold the index's
    /// only pen: then this waits for nothing and returns 0.
    pub async fn catch_up(&self) -> Result<u64, Error> {
        todo!()
    }

    /// Keeps the index up with the log until the future is dropped: run it as a task in a serving process.
    pub async fn follow(&self) -> Result<(), Error> {
        todo!()
    }

    /// How far the index is behind the log: entries, and the time since the oldest of them was appended.
    pub async fn lag(&self) -> Result<(u64, Duration), Error> {
        todo!()
    }
}
