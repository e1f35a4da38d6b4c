//! What DOCX, PPTX, XLSX and VSDX share: relations between parts, and the properties in `docProps`.

use crate::container::zip::Archive;

use super::Reading;
use super::xml::{self, local};

/// Where one part points to another.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) id: String,
    /// The last word of its type: `slide`, `styles`, `officeDocument`.
    pub(super) kind: String,
    /// The part it points to, from the archive's root.
    pub(super) target: String,
}

/// The relations of a part (of the whole package for an empty name), in their order.
pub(super) fn relations(archive: &Archive<'_>, part: &str, reading: &mut Reading) -> Vec<Relation> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let slash = if folder.is_empty() { "" } else { "/" };
    let path = format!("{folder}{slash}_rels/{name}.rels");
    let Some(bytes) = archive.read(&path) else { return Vec::new() };
    let (leaves, warning) = xml::leaves(&path, &bytes);
    reading.take_warnings(warning);
    let relations = leaves.iter().filter(|leaf| local(&leaf.name) == "Relationship");
    relations
        .filter(|leaf| leaf.attribute("TargetMode") != Some("External"))
        .filter_map(|leaf| {
            let kind = leaf.attribute("Type")?;
            Some(Relation {
                id: leaf.attribute("Id").unwrap_or_default().to_owned(),
                kind: kind.rsplit('/').next().unwrap_or(kind).to_owned(),
                target: resolve(folder, leaf.attribute("Target")?),
            })
        })
        .collect()
}

/// A path beside a part, as one from the archive's root.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            step => parts.push(step),
        }
    }
    parts.join("/")
}

/// The main part, by the package's relations or under its usual name.
pub(super) fn main_part(archive: &Archive<'_>, usual: &str, reading: &mut Reading) -> String {
    let relations = relations(archive, "", reading);
    let main = relations.into_iter().find(|relation| relation.kind == "officeDocument");
    main.map(|relation| relation.target).filter(|target| archive.has(target)).unwrap_or_else(|| usual.to_owned())
}

/// The part of a kind that a part points to, or the one with the usual name beside it.
pub(super) fn related(archive: &Archive<'_>, relations: &[Relation], kind: &str, usual: &str) -> Option<Vec<u8>> {
    let target = relations.iter().find(|relation| relation.kind == kind).map_or(usual, |relation| &relation.target);
    archive.read(target)
}

/// A part that must be there; says so when it is not.
pub(super) fn required(archive: &Archive<'_>, part: &str, reading: &mut Reading) -> Option<Vec<u8>> {
    let content = archive.read(part);
    if content.is_none() {
        reading.warn(
            "missing-part",
            format!("The part {part} is missing, so there is no text to read; the file was cut off or damaged."),
        );
    }
    content
}

/// The properties in `docProps/core.xml`, `app.xml` and `custom.xml`.
pub(super) fn properties(archive: &Archive<'_>, reading: &mut Reading) {
    let relations = relations(archive, "", reading);
    let path = |kind: &str, usual: &str| {
        relations
            .iter()
            .find(|relation| relation.kind == kind)
            .map_or(usual.to_owned(), |relation| relation.target.clone())
    };
    for (group, part) in [
        ("core", path("core-properties", "docProps/core.xml")),
        ("app", path("extended-properties", "docProps/app.xml")),
    ] {
        let Some(bytes) = archive.read(&part) else { continue };
        let (leaves, warning) = xml::leaves(&part, &bytes);
        reading.take_warnings(warning);
        let mut leaves = leaves.iter().peekable();
        while let Some(leaf) = leaves.next() {
            match local(&leaf.name) {
                // Two lists: kinds of parts with their counts, and the names of parts.
                "lpstr" => match leaves.peek().filter(|next| local(&next.name) == "i4") {
                    Some(count) => {
                        let pair = format!("{}, {}", leaf.text, count.text);
                        reading.property(format!("OOXML:{group}:HeadingPairs"), &pair);
                    }
                    None => reading.property(format!("OOXML:{group}:TitlesOfParts"), &leaf.text),
                },
                "i4" | "Properties" | "coreProperties" | "vector" => {}
                name => reading.property(format!("OOXML:{group}:{name}"), &leaf.text),
            }
        }
    }
    let part = path("custom-properties", "docProps/custom.xml");
    if let Some(bytes) = archive.read(&part) {
        let mut name = String::new();
        let warning = xml::walk(&part, &bytes, &mut |node| {
            match node {
                xml::Node::Start(tag) if tag.name() == "property" => name = tag.attribute("name").unwrap_or_default(),
                xml::Node::Text(text) if !name.is_empty() && !text.trim().is_empty() => {
                    reading.property(format!("OOXML:custom:{name}"), text);
                }
                _ => {}
            }
            std::ops::ControlFlow::Continue(())
        });
        reading.take_warnings(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        assert_eq!(resolve("ppt/slides", "../notesSlides/n1.xml"), "ppt/notesSlides/n1.xml");
        assert_eq!(resolve("ppt", "/word/document.xml"), "word/document.xml");
        assert_eq!(resolve("a", "../../../etc/passwd"), "etc/passwd");
    }
}
