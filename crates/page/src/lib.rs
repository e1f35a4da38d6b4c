//! The room for web pages: HTML to facts.
//!
//! What belongs here: cleaning, XPath, extraction rules and their refinement, structured data embedded in pages, wrappers
//! learnt from examples. All HTML is read here and nowhere else; `document` only recognises it. Fetching pages is `gather`'s.
//! Nothing reads HTML yet.
