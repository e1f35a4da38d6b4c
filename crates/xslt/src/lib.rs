//! The room for XSLT 1.0: transforming one XML document into another by a stylesheet that a user may have written.
//!
//! It is a leaf that knows nothing of zhulu. What belongs here: stylesheets compiled once and run many times, with limits
//! on steps, depth and size, and a resolver supplied by the caller through which alone a stylesheet can reach anything else.
//! Crosswalks between metadata formats and the feeds' stylesheets are `protocol`'s, which will run them here. There is no
//! engine yet: until there is, `protocol` writes Dublin Core and RSS by itself.
