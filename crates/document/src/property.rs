//! One vocabulary for the properties of all formats: from the name a format gives a property to a normal name and, where there is one, an
//! element of Dublin Core.
//!
//! Readers note properties by their native names (`EXIF:Artist`, `OLE:Author`, `XMP:dc:creator`), which are kept as they are; this table
//! says that all three mean `creator`. `docs/properties.md` shows it to people.

use std::collections::HashMap;
use std::sync::LazyLock;

use zhulu_record::{Element, Evidence, Language, Place, Statement};

/// What a native property means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    /// Its name in the one vocabulary: `creator`, `width`, `sample-rate`.
    pub name: &'static str,
    /// The element of the catalogue it speaks of; `None` for a property that only describes the file.
    pub element: Option<&'static str>,
}

/// Normal name, element (empty for none), and the native names that mean it.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &[&str])] = &[
    ("title", "title", &[
        "WordPerfect:Descriptive Name", "StarOffice:Title", "Markdown:title", "Info:Title", "XMP:dc:title",
        "XMP:photoshop:Headline", "OLE:Title", "OOXML:core:title", "ODF:dc:title", "EPUB:dc:title", "RTF:title",
        "EXIF:XPTitle", "EXIF:DocumentName", "IPTC:ObjectName", "IPTC:Headline", "PNG:Title", "ID3:TIT2", "ID3v1:Title",
        "Vorbis:TITLE", "MP4:©nam", "RIFF:INAM",
    ]),
    ("subtitle", "alternative", &["ID3:TIT3", "Vorbis:SUBTITLE", "Vorbis:VERSION"]),
    ("creator", "creator", &[
        "WordPerfect:Author", "StarOffice:Author", "Markdown:author", "Markdown:authors", "Info:Author",
        "XMP:dc:creator", "XMP:tiff:Artist", "OLE:Author", "OOXML:core:creator", "ODF:meta:initial-creator",
        "EPUB:dc:creator", "RTF:author", "EXIF:Artist", "EXIF:XPAuthor", "IPTC:By-line", "PNG:Author", "PNG:Artist",
        "ID3:TPE1", "ID3v1:Artist", "Vorbis:ARTIST", "Vorbis:AUTHOR", "MP4:©ART", "MP4:©aut", "RIFF:IART",
        "RIFF:Originator",
    ]),
    ("composer", "creator", &["ID3:TCOM", "Vorbis:COMPOSER", "MP4:©wrt"]),
    ("contributor", "contributor", &[
        "XMP:dc:contributor", "EPUB:dc:contributor", "IPTC:Writer-Editor", "ID3:TPE2", "ID3:TPE3", "ID3:TPE4",
        "ID3:TEXT", "Vorbis:PERFORMER", "Vorbis:ALBUMARTIST", "Vorbis:CONDUCTOR", "Vorbis:LYRICIST", "MP4:aART",
        "XMP:photoshop:CaptionWriter",
    ]),
    ("last-modified-by", "", &[
        "StarOffice:LastModifiedBy", "OLE:LastModifiedBy", "OOXML:core:lastModifiedBy", "ODF:dc:creator",
        "RTF:operator",
    ]),
    ("subject", "subject", &[
        "WordPerfect:Subject", "StarOffice:Subject", "Info:Subject", "OLE:Subject", "OOXML:core:subject",
        "ODF:dc:subject", "RTF:subject", "EXIF:XPSubject", "RIFF:ISBJ",
    ]),
    ("keyword", "subject", &[
        "WordPerfect:Keywords", "StarOffice:Keywords", "Markdown:keywords", "Markdown:tags", "Info:Keywords",
        "XMP:dc:subject", "XMP:pdf:Keywords", "OLE:Keywords", "OOXML:core:keywords", "ODF:meta:keyword",
        "EPUB:dc:subject", "RTF:keywords", "EXIF:XPKeywords", "IPTC:Keywords", "RIFF:IKEY", "PNG:Keywords",
    ]),
    ("category", "subject", &[
        "OLE:Category", "OOXML:core:category", "RTF:category", "IPTC:Category", "IPTC:SupplementalCategories",
    ]),
    ("genre", "subject", &["ID3:TCON", "ID3v1:Genre", "Vorbis:GENRE", "MP4:©gen", "RIFF:IGNR"]),
    ("description", "description", &[
        "WordPerfect:Comments", "StarOffice:Comments", "Markdown:description", "XMP:dc:description", "OLE:Comments",
        "OOXML:core:description", "ODF:dc:description", "EPUB:dc:description", "RTF:doccomm", "EXIF:ImageDescription",
        "EXIF:XPComment", "EXIF:UserComment", "IPTC:Caption-Abstract", "PNG:Description", "PNG:Comment", "GIF:Comment",
        "File:Comment", "ID3:COMM", "ID3v1:Comment", "Vorbis:DESCRIPTION", "Vorbis:COMMENT", "MP4:©cmt", "MP4:desc",
        "MP4:ldes", "RIFF:ICMT", "RIFF:Description",
    ]),
    ("publisher", "publisher", &[
        "WordPerfect:Publisher", "XMP:dc:publisher", "XMP:prism:publicationName", "EPUB:dc:publisher", "ID3:TPUB",
        "Vorbis:ORGANIZATION", "Vorbis:LABEL", "Vorbis:PUBLISHER", "MP4:©pub", "IPTC:Credit", "XMP:photoshop:Credit",
    ]),
    ("abstract", "abstract", &["WordPerfect:Abstract", "Markdown:abstract"]),
    ("company", "", &["OLE:Company", "OOXML:app:Company", "RTF:company", "Info:Company"]),
    ("manager", "", &["OLE:Manager", "OOXML:app:Manager", "RTF:manager"]),
    ("created", "created", &[
        "WordPerfect:Creation Date", "StarOffice:CreateDate", "Info:CreationDate", "XMP:xmp:CreateDate",
        "XMP:photoshop:DateCreated", "XMP:exif:DateTimeOriginal", "OLE:CreateDate", "OOXML:core:created",
        "ODF:meta:creation-date", "RTF:creatim", "EXIF:DateTimeOriginal", "EXIF:CreateDate", "IPTC:DateCreated",
        "PNG:Creation Time", "PNG:create-date", "MP4:CreateDate", "RIFF:DateTimeOriginal", "RIFF:ICRD",
    ]),
    ("issued", "issued", &[
        "XMP:prism:publicationDate", "XMP:prism:coverDate", "EPUB:dc:date", "ID3:TDRC", "ID3:TYER", "ID3:TDRL",
        "ID3v1:Year", "Vorbis:DATE", "Vorbis:YEAR", "MP4:©day", "IPTC:ReleaseDate",
    ]),
    ("date", "date", &["Markdown:date", "XMP:dc:date"]),
    ("modified", "modified", &[
        "WordPerfect:Revision Date", "StarOffice:ModifyDate", "Info:ModDate", "XMP:xmp:ModifyDate", "OLE:ModifyDate",
        "OOXML:core:modified", "ODF:dc:date", "EPUB:dcterms:modified", "RTF:revtim", "EXIF:ModifyDate",
        "PNG:ModifyDate", "PNG:modify-date", "MP4:ModifyDate",
    ]),
    ("printed", "", &["OLE:LastPrinted", "OOXML:core:lastPrinted", "ODF:meta:print-date", "RTF:printim"]),
    ("printed-by", "", &["ODF:meta:printed-by"]),
    ("metadata-modified", "", &["XMP:xmp:MetadataDate"]),
    ("language", "language", &[
        "Markdown:lang", "XMP:dc:language", "OOXML:core:language", "ODF:dc:language", "EPUB:dc:language",
        "OLE:Language", "IPTC:LanguageIdentifier", "ID3:TLAN", "Vorbis:LANGUAGE", "PDF:Language", "RIFF:ILNG",
    ]),
    ("rights", "rights", &[
        "XMP:dc:rights", "EPUB:dc:rights", "EXIF:Copyright", "IPTC:CopyrightNotice", "PNG:Copyright", "ID3:TCOP",
        "Vorbis:COPYRIGHT", "MP4:cprt", "MP4:©cpy", "RIFF:ICOP", "XMP:xmpRights:UsageTerms", "XMP:xmpRights:Owner",
    ]),
    ("license", "license", &[
        "XMP:cc:license", "XMP:xmpRights:WebStatement", "Vorbis:LICENSE", "ID3:WCOP", "XMP:dcterms:license",
    ]),
    ("identifier", "identifier", &[
        "XMP:dc:identifier", "XMP:prism:doi", "XMP:pdfx:doi", "XMP:crossmark:DOI", "XMP:prism:isbn",
        "OOXML:core:identifier", "EPUB:dc:identifier", "ID3:TSRC", "Vorbis:ISRC", "Info:doi", "Info:DOI",
    ]),
    ("citation", "citation", &["XMP:prism:url"]),
    ("source", "source", &[
        "XMP:dc:source", "EPUB:dc:source", "XMP:photoshop:Source", "IPTC:Source", "PNG:Source", "RIFF:ISRC",
    ]),
    ("relation", "relation", &["XMP:dc:relation", "EPUB:dc:relation"]),
    ("album", "is-part-of", &["ID3:TALB", "ID3v1:Album", "Vorbis:ALBUM", "MP4:©alb", "RIFF:IPRD"]),
    ("coverage", "coverage", &["XMP:dc:coverage", "EPUB:dc:coverage"]),
    ("place", "spatial", &[
        "IPTC:City", "IPTC:Sub-location", "IPTC:Province-State", "IPTC:Country-PrimaryLocationName",
        "XMP:photoshop:City", "XMP:photoshop:State", "XMP:photoshop:Country", "XMP:Iptc4xmpCore:Location",
        "Vorbis:LOCATION",
    ]),
    ("type", "type", &["XMP:dc:type", "EPUB:dc:type"]),
    ("format", "", &["XMP:dc:format", "ODF:mimetype"]),
    ("software", "", &[
        "OLE:Software", "Info:Creator", "XMP:xmp:CreatorTool", "OLE:AppName", "OOXML:app:Application",
        "ODF:meta:generator", "EXIF:Software", "IPTC:OriginatingProgram", "PNG:Software", "ID3:TENC", "ID3:TSSE",
        "Vorbis:ENCODER", "MP4:©too", "RIFF:ISFT",
    ]),
    ("software-version", "", &["OLE:AppVersion", "OOXML:app:AppVersion", "IPTC:ProgramVersion"]),
    ("producer", "", &["Info:Producer", "XMP:pdf:Producer", "Vorbis:Vendor"]),
    ("template", "", &["OLE:Template", "OOXML:app:Template"]),
    ("revision", "", &["OLE:RevisionNumber", "OOXML:core:revision", "ODF:meta:editing-cycles", "RTF:version"]),
    ("edit-time", "", &["OLE:TotalEditTime", "OOXML:app:TotalTime", "ODF:meta:editing-duration", "RTF:edmins"]),
    ("pages", "", &[
        "PDF:PageCount", "OLE:Pages", "OOXML:app:Pages", "ODF:meta:page-count", "RTF:nofpages", "TIFF:PageCount",
    ]),
    ("slides", "", &["OLE:Slides", "OOXML:app:Slides"]),
    ("notes", "", &["OLE:Notes", "OOXML:app:Notes"]),
    ("hidden-slides", "", &["OLE:HiddenSlides", "OOXML:app:HiddenSlides"]),
    ("sheets", "", &["OOXML:workbook:sheets", "ODF:meta:table-count"]),
    ("paragraphs", "", &["OLE:Paragraphs", "OOXML:app:Paragraphs", "ODF:meta:paragraph-count"]),
    ("lines", "", &["OLE:Lines", "OOXML:app:Lines"]),
    ("words", "", &["OLE:Words", "OOXML:app:Words", "ODF:meta:word-count", "RTF:nofwords"]),
    ("characters", "", &["OLE:Characters", "OOXML:app:Characters", "ODF:meta:character-count", "RTF:nofchars"]),
    ("characters-with-spaces", "", &[
        "OLE:CharCountWithSpaces", "OLE:CharactersWithSpaces", "OOXML:app:CharactersWithSpaces", "RTF:nofcharsws",
    ]),
    ("pictures", "", &["ODF:meta:image-count"]),
    ("encoding", "", &["encoding", "OLE:CodePage"]),
    ("security", "", &["OLE:Security", "OOXML:app:DocSecurity", "PDF:Encryption"]),
    ("format-version", "", &[
        "PDF:Version", "GIF:GIFVersion", "ID3:Version", "MPEG:MPEGAudioVersion", "EXIF:ExifVersion",
    ]),
    ("conformance", "", &["PDF:PDFA", "PDF:PDFUA", "PDF:PDFX"]),
    ("tagged", "", &["PDF:Tagged"]),
    ("fonts", "", &["PDF:Fonts"]),
    ("page-labels", "", &["PDF:PageLabels"]),
    ("page-size", "", &["PDF:PageSize"]),
    ("width", "", &[
        "File:ImageWidth", "EXIF:ImageWidth", "PNG:ImageWidth", "GIF:ImageWidth", "RIFF:ImageWidth",
        "Photoshop:ImageWidth", "MP4:ImageWidth",
    ]),
    ("height", "", &[
        "File:ImageHeight", "EXIF:ImageHeight", "PNG:ImageHeight", "GIF:ImageHeight", "RIFF:ImageHeight",
        "Photoshop:ImageHeight", "MP4:ImageHeight",
    ]),
    ("bit-depth", "", &[
        "File:BitsPerSample", "File:BitDepth", "EXIF:BitsPerSample", "PNG:BitDepth", "GIF:BitsPerPixel",
        "Photoshop:BitDepth", "RIFF:BitsPerSample", "FLAC:BitsPerSample", "MP4:AudioBitsPerSample",
    ]),
    ("colour", "", &[
        "File:ColorComponents", "EXIF:PhotometricInterpretation", "EXIF:ColorSpace", "PNG:ColorType",
        "Photoshop:ColorMode", "XMP:photoshop:ColorMode",
    ]),
    ("colour-profile", "", &["XMP:photoshop:ICCProfile"]),
    ("compression", "", &[
        "EXIF:Compression", "PNG:Compression", "File:Compression", "RIFF:Encoding", "MP4:AudioFormat",
        "MP4:CompressorID",
    ]),
    ("resolution-x", "", &[
        "JFIF:XResolution", "EXIF:XResolution", "PNG:PixelsPerUnitX", "File:PixelsPerMeterX", "Photoshop:XResolution",
        "XMP:tiff:XResolution",
    ]),
    ("resolution-y", "", &[
        "JFIF:YResolution", "EXIF:YResolution", "PNG:PixelsPerUnitY", "File:PixelsPerMeterY", "Photoshop:YResolution",
        "XMP:tiff:YResolution",
    ]),
    ("resolution-unit", "", &[
        "JFIF:ResolutionUnit", "EXIF:ResolutionUnit", "PNG:PixelUnits", "XMP:tiff:ResolutionUnit",
    ]),
    ("orientation", "", &["EXIF:Orientation", "XMP:tiff:Orientation"]),
    ("frames", "", &["GIF:FrameCount", "RIFF:FrameCount"]),
    ("camera-make", "", &["EXIF:Make", "XMP:tiff:Make"]),
    ("camera-model", "", &["EXIF:Model", "XMP:tiff:Model"]),
    ("lens", "", &["EXIF:LensModel", "XMP:aux:Lens", "XMP:exifEX:LensModel"]),
    ("exposure-time", "", &["EXIF:ExposureTime", "XMP:exif:ExposureTime"]),
    ("aperture", "", &["EXIF:FNumber", "XMP:exif:FNumber"]),
    ("sensitivity", "", &["EXIF:ISO"]),
    ("focal-length", "", &["EXIF:FocalLength", "XMP:exif:FocalLength"]),
    ("latitude", "", &["GPS:GPSLatitude", "XMP:exif:GPSLatitude"]),
    ("longitude", "", &["GPS:GPSLongitude", "XMP:exif:GPSLongitude"]),
    ("altitude", "", &["GPS:GPSAltitude", "XMP:exif:GPSAltitude"]),
    ("duration", "", &["Audio:Duration", "GIF:Duration", "XMP:xmpDM:duration"]),
    ("bit-rate", "", &["Audio:BitRate", "MPEG:AudioBitrate"]),
    ("sample-rate", "", &[
        "MPEG:SampleRate", "RIFF:SampleRate", "FLAC:SampleRate", "Vorbis:SampleRate", "Opus:SampleRate",
        "Speex:SampleRate", "MP4:AudioSampleRate",
    ]),
    ("channels", "", &[
        "Audio:Channels", "RIFF:NumChannels", "FLAC:Channels", "Vorbis:AudioChannels", "Opus:AudioChannels",
        "Speex:Channels", "MP4:AudioChannels",
    ]),
    ("track", "", &["ID3:TRCK", "ID3v1:Track", "Vorbis:TRACKNUMBER", "MP4:trkn", "RIFF:ITRK"]),
    ("disc", "", &["ID3:TPOS", "Vorbis:DISCNUMBER", "MP4:disk"]),
    ("rating", "", &["EXIF:Rating", "XMP:xmp:Rating"]),
    ("document-id", "", &["XMP:xmpMM:DocumentID"]),
    ("instance-id", "", &["XMP:xmpMM:InstanceID"]),
];

static BY_NATIVE: LazyLock<HashMap<&'static str, Property>> = LazyLock::new(|| {
    let rows = TABLE.iter().flat_map(|(name, element, natives)| {
        let element = (!element.is_empty()).then_some(*element);
        natives.iter().map(move |native| (*native, Property { name, element }))
    });
    rows.collect()
});

/// What a native property name means; `None` if the vocabulary has no word for it. A language in brackets is looked past.
///
/// ```
/// let creator = zhulu_document::property("EXIF:Artist").unwrap();
/// assert_eq!((creator.name, creator.element), ("creator", Some("creator")));
/// assert_eq!(zhulu_document::property("XMP:dc:title[zh-CN]").unwrap().name, "title");
/// assert_eq!(zhulu_document::property("EXIF:Sharpness"), None);
/// ```
pub fn property(native: &str) -> Option<Property> {
    BY_NATIVE.get(plain(native)).copied()
}

/// The whole vocabulary: each normal name with its element and the native names that mean it.
pub fn properties() -> impl Iterator<Item = (Property, &'static [&'static str])> {
    TABLE.iter().map(|(name, element, natives)| {
        (Property { name, element: (!element.is_empty()).then_some(*element) }, *natives)
    })
}

/// The name without the language in brackets behind it.
fn plain(native: &str) -> &str {
    match native.split_once('[') {
        Some((name, _)) => name,
        None => native,
    }
}

/// How sure a property is that a person or program wrote about the content, and one that a program measured or timed.
const SAID: f64 = 0.7;
const DATED: f64 = 0.9;

/// What properties say in the catalogue's own words. The same value from two blocks is said once; a keyword list is taken apart.
pub(crate) fn statements(properties: &[(String, String)]) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for (native, value) in properties {
        let Some(meaning) = property(native) else { continue };
        let Some(element) = meaning.element.and_then(|element| element.parse::<Element>().ok()) else { continue };
        let dated = matches!(meaning.name, "created" | "modified" | "issued" | "date");
        let values: Vec<String> = match meaning.name {
            _ if dated => date(value).into_iter().collect(),
            "keyword" | "creator" => parts(value),
            _ => vec![value.clone()],
        };
        let language = native.split_once('[').map(|(_, tag)| Language::new(tag.trim_end_matches(']')));
        let group = native.split(':').next().unwrap_or_default().to_lowercase();
        for value in values {
            let said = |other: &Statement| {
                other.element == element
                    && other.value.as_text().is_some_and(|text| text == value || dated && same_day(text, &value))
            };
            if statements.iter().any(said) {
                continue;
            }
            let evidence = Evidence::by(format!("property:{group}"))
                .at(Place::Property(native.clone()))
                .sure(if dated { DATED } else { SAID });
            let mut statement = Statement::new(element.clone(), value).because(evidence);
            statement.language.clone_from(&language);
            statements.push(statement);
        }
    }
    statements
}

/// Whether one date is the other with more precision.
fn same_day(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// A list in one value taken apart. Commas stand in names ("Lee, Ann"), so only the signs that stand for nothing else part.
fn parts(value: &str) -> Vec<String> {
    let parts = value.split([';', '；', '、']).map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// A date as formats write it (`2024:05:01 12:30:00+08:00`, `2024-05-01T12:30:00Z`, `2024`) as ISO 8601; `None` if it is none.
pub(crate) fn date(text: &str) -> Option<String> {
    let text = text.trim();
    let (day, time) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let numbers: Vec<&str> = day.split([':', '-', '/', '.']).collect();
    let number = |index: usize, width: usize| -> Option<u32> {
        let part = numbers.get(index)?;
        (part.len() <= width && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse().ok())?
    };
    let year = number(0, 4).filter(|year| (1000..=2999).contains(year) && numbers[0].len() == 4)?;
    let month = match numbers.len() {
        1 => return Some(format!("{year:04}")),
        _ => number(1, 2).filter(|month| (1..=12).contains(month))?,
    };
    let day = match numbers.len() {
        2 => return Some(format!("{year:04}-{month:02}")),
        3 => number(2, 2).filter(|day| (1..=31).contains(day))?,
        _ => return None,
    };
    let date = format!("{year:04}-{month:02}-{day:02}");
    // The time is believed when it looks like one, and otherwise left out.
    let clock = time.get(..8).filter(|clock| {
        clock.bytes().enumerate().all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_digit() })
    });
    let Some(clock) = clock else { return Some(date) };
    let zone = time[8..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let good =
        zone == "Z" || zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':' && zone.is_ascii();
    Some(if good { format!("{date}T{clock}{zone}") } else { format!("{date}T{clock}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let mut natives: Vec<&str> = TABLE.iter().flat_map(|(_, _, natives)| natives.iter().copied()).collect();
        natives.sort_unstable();
        let all = natives.len();
        natives.dedup();
        assert_eq!(natives.len(), all, "a native name means one thing");
        for (name, element, _) in TABLE {
            assert!(element.is_empty() || Element::KNOWN.iter().any(|known| known.name() == *element), "{name}");
        }
    }

    #[test]
    fn the_page_for_people_shows_the_table() {
        let page = include_str!("../../../docs/properties.md");
        for (name, _, natives) in TABLE {
            assert!(page.contains(&format!("| {name} |")), "docs/properties.md has no row for {name}");
            for native in *natives {
                assert!(page.contains(native), "docs/properties.md does not name {native}");
            }
        }
    }

    #[test]
    fn dates_are_written_one_way() {
        assert_eq!(date("2024:05:01 12:30:00").as_deref(), Some("2024-05-01T12:30:00"));
        assert_eq!(date("2024-05-01T12:30:00.25+08:00").as_deref(), Some("2024-05-01T12:30:00+08:00"));
        assert_eq!(date("2024:05:01").as_deref(), Some("2024-05-01"));
        assert_eq!(date("2024").as_deref(), Some("2024"));
        assert_eq!(date("0000:00:00 00:00:00"), None);
        assert_eq!(date("去年"), None);
        assert_eq!(date("1"), None);
    }

    #[test]
    fn what_two_blocks_say_is_said_once() {
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let said = statements(&[
            own("EXIF:Artist", "王小明; Ann Lee"),
            own("XMP:dc:creator", "王小明"),
            own("EXIF:DateTimeOriginal", "2024:05:01 12:30:00"),
            own("IPTC:DateCreated", "2024:05:01"),
            own("XMP:dc:title[zh]", "云"),
            own("EXIF:Sharpness", "1"),
        ]);
        let shown: Vec<String> = said.iter().map(|s| format!("{}={}", s.element, s.value)).collect();
        assert_eq!(shown, ["creator=王小明", "creator=Ann Lee", "created=2024-05-01T12:30:00", "title=云"]);
        assert_eq!(said[3].language.as_ref().map(Language::tag), Some("zh"));
    }
}
