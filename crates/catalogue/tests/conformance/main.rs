//! One suite for both stores: whatever a catalogue promises, SQLite and PostgreSQL keep alike.
//!
//! The PostgreSQL half needs a server: `./test` starts one and names it in `ZHULU_TEST_POSTGRES`; each test works in a
//! schema of its own there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod append;
mod blob;
mod concurrent;
mod erase;
mod identity;
mod job;
mod listing;
mod place;
mod transfer;
mod version;

/// Declares each test once for each store.
macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                super::$name(crate::place::Place::sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                super::$name(crate::place::Place::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both_stores;
