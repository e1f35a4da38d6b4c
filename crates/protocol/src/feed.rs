//! RSS 2.0, written from records. Which records, and under which addresses, is for the caller to say.
//!
//! Where a naive mapping from Dublin Core would break RSS 2.0 this follows RSS 2.0: `author` must be an e-mail address, so
//! creators travel as `dc:creator`; language and rights belong to a channel, so an item's travel as `dc:language` and
//! `dc:rights`. What RSS 2.0 has no place for is reached by the item's link.

use quick_xml::escape::partial_escape;
use zhulu_record::{Datestamp, Element, Language, Statement};

use crate::xml::Xml;

/// A feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its title.
    pub title: String,
    /// The page it belongs to.
    pub link: String,
    /// What it is about.
    pub description: String,
    /// Its own address.
    pub address: String,
    /// Its items, newest first.
    pub items: Vec<Item>,
}

impl Channel {
    /// When the newest of its items changed: the feed is as old as that, not as the time of asking.
    pub fn updated(&self) -> Option<Datestamp> {
        self.items.iter().map(|item| item.datestamp).max()
    }
}

/// One record in a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its identifier, which never changes.
    pub identifier: String,
    /// The page about it.
    pub link: String,
    /// When it last changed.
    pub datestamp: Datestamp,
    /// What is said of it.
    pub statements: Vec<Statement>,
}

impl Item {
    fn texts<'s>(&'s self, base: &'s str) -> impl Iterator<Item = (String, Option<&'s Language>)> + 's {
        let fits = move |statement: &&Statement| statement.element.dublin_core() == Some(base);
        let texts = self.statements.iter().filter(fits);
        texts.map(|statement| (statement.value.to_string(), statement.language.as_ref()))
    }

    fn title(&self) -> Option<String> {
        let title = self.statements.iter().find(|statement| statement.element == Element::TITLE);
        title.map(|statement| statement.value.to_string()).or_else(|| self.texts("title").next().map(|(text, _)| text))
    }
}

/// A date as RSS wants it: RFC 822 with the year in full.
pub fn rfc822(datestamp: Datestamp) -> String {
    datestamp.timestamp().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// The feed as RSS 2.0.
pub fn write_rss2(channel: &Channel) -> String {
    let mut xml = Xml::document();
    let root = [
        ("version", "2.0"),
        ("xmlns:dc", "http://purl.org/dc/elements/1.1/"),
        ("xmlns:atom", "http://www.w3.org/2005/Atom"),
    ];
    xml.open("rss", &root).line().open("channel", &[]).line();
    xml.leaf("title", &[], &channel.title).line();
    xml.leaf("link", &[], &channel.link).line();
    xml.leaf("description", &[], &channel.description).line();
    let to_self = [("href", channel.address.as_str()), ("rel", "self"), ("type", "application/rss+xml")];
    xml.open("atom:link", &to_self).close().line();
    if let Some(updated) = channel.updated() {
        xml.leaf("lastBuildDate", &[], &rfc822(updated)).line();
    }
    xml.leaf("generator", &[], "zhulu").line();
    for item in &channel.items {
        xml.open("item", &[]).line();
        // An item needs a title or a description; the identifier is better than nothing.
        xml.leaf("title", &[], &item.title().unwrap_or_else(|| item.identifier.clone())).line();
        xml.leaf("link", &[], &item.link).line();
        if let Some((text, _)) = item.texts("description").next() {
            // RSS takes a description for HTML: a text is escaped once as HTML, and once more as XML.
            xml.leaf("description", &[], &partial_escape(text.as_str())).line();
        }
        for (text, _) in item.texts("creator") {
            xml.leaf("dc:creator", &[], &text).line();
        }
        for (text, _) in item.texts("subject") {
            xml.leaf("category", &[], &text).line();
        }
        for (base, name) in [("publisher", "dc:publisher"), ("language", "dc:language"), ("rights", "dc:rights")] {
            for (text, _) in item.texts(base) {
                xml.leaf(name, &[], &text).line();
            }
        }
        xml.leaf("guid", &[("isPermaLink", "false")], &item.identifier).line();
        xml.leaf("pubDate", &[], &rfc822(item.datestamp)).line();
        xml.close().line();
    }
    xml.close().line().close().line();
    xml.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_is_as_old_as_its_newest_item() {
        let item = |seconds| Item {
            identifier: "oai:a.org:1".into(),
            link: "https://a.org/record/1?a=1&b=2".into(),
            datestamp: Datestamp::from_seconds(seconds),
            statements: vec![
                Statement::new(Element::TITLE, "著录 <b>"),
                Statement::new(Element::CREATOR, "林"),
                Statement::new(Element::ABSTRACT, "a < b"),
                Statement::new(Element::TEXT, "secret"),
            ],
        };
        let channel = Channel {
            title: "测试".into(),
            link: "https://a.org/".into(),
            description: "d".into(),
            address: "https://a.org/feed/rss2".into(),
            items: vec![item(1_234_567_890), item(0)],
        };
        let xml = write_rss2(&channel);
        assert!(xml.contains("<lastBuildDate>Fri, 13 Feb 2009 23:31:30 GMT</lastBuildDate>"), "{xml}");
        assert!(xml.contains("<description>a &amp;lt; b</description>"), "{xml}");
        assert!(xml.contains("<guid isPermaLink=\"false\">oai:a.org:1</guid>") && !xml.contains("secret"));
        assert!(xml.contains("<pubDate>Thu, 01 Jan 1970 00:00:00 GMT</pubDate>"));
    }
}
