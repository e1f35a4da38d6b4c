//! ID3: tags in front of a sound (versions 2.2, 2.3, 2.4) and the older ones behind it (version 1).

use crate::media::{Media, Order, slice, unmarked_text, utf16_text};

/// Frames beyond this are not read.
const MAX_FRAMES: usize = 2000;

/// A longer frame is a picture or a whole file.
const MAX_FRAME: usize = 64 << 10;

/// Names of version 2.2 in those of the later versions.
const SHORT: &[(&[u8], &str)] = &[
    (b"TT1", "TIT1"),
    (b"TT2", "TIT2"),
    (b"TT3", "TIT3"),
    (b"TP1", "TPE1"),
    (b"TP2", "TPE2"),
    (b"TP3", "TPE3"),
    (b"TP4", "TPE4"),
    (b"TAL", "TALB"),
    (b"TRK", "TRCK"),
    (b"TPA", "TPOS"),
    (b"TYE", "TYER"),
    (b"TDA", "TDAT"),
    (b"TCO", "TCON"),
    (b"TCM", "TCOM"),
    (b"TCR", "TCOP"),
    (b"TEN", "TENC"),
    (b"TSS", "TSSE"),
    (b"TPB", "TPUB"),
    (b"TLA", "TLAN"),
    (b"TXT", "TEXT"),
    (b"TBP", "TBPM"),
    (b"TLE", "TLEN"),
    (b"TRC", "TSRC"),
    (b"TXX", "TXXX"),
    (b"COM", "COMM"),
    (b"ULT", "USLT"),
    (b"WXX", "WXXX"),
    (b"WAF", "WOAF"),
    (b"WCP", "WCOP"),
];

/// The kinds of music that version 1 numbers. Later players added some that nobody uses; the first eighty are the standard's.
const GENRES: &str = "Blues|Classic Rock|Country|Dance|Disco|Funk|Grunge|Hip-Hop|Jazz|Metal|New Age|Oldies|Other|Pop|R&B|Rap|Reggae|Rock|\
Techno|Industrial|Alternative|Ska|Death Metal|Pranks|Soundtrack|Euro-Techno|Ambient|Trip-Hop|Vocal|Jazz+Funk|Fusion|Trance|Classical|\
Instrumental|Acid|House|Game|Sound Clip|Gospel|Noise|Alt. Rock|Bass|Soul|Punk|Space|Meditative|Instrumental Pop|Instrumental Rock|\
Ethnic|Gothic|Darkwave|Techno-Industrial|Electronic|Pop-Folk|Eurodance|Dream|Southern Rock|Comedy|Cult|Gangsta Rap|Top 40|\
Christian Rap|Pop/Funk|Jungle|Native American|Cabaret|New Wave|Psychedelic|Rave|Showtunes|Trailer|Lo-Fi|Tribal|Acid Punk|Acid Jazz|\
Polka|Retro|Musical|Rock & Roll|Hard Rock";

/// Seven bits in each byte.
fn gentle(bytes: &[u8], at: usize) -> Option<usize> {
    let four = slice(bytes, at, 4)?;
    four.iter().all(|byte| *byte < 0x80).then(|| four.iter().fold(0, |sum, byte| sum << 7 | usize::from(*byte)))
}

/// Read the tag at the beginning; where it ends.
pub(super) fn read(bytes: &[u8], media: &mut Media) -> usize {
    let (Some([major, _, flags]), Some(length)) = (slice(bytes, 3, 3), gentle(bytes, 6)) else {
        media.warn_damaged("the header of its ID3 tag is none");
        return 0;
    };
    let end = 10 + length + if flags & 0x10 != 0 { 10 } else { 0 };
    let body = match bytes.get(10..(10 + length).min(bytes.len())) {
        Some(body) => body,
        None => &[],
    };
    if body.len() < length {
        media.warn_cut("its ID3 tag");
    }
    let resynced;
    let body = if flags & 0x80 != 0 && *major < 4 {
        resynced = resync(body);
        &resynced
    } else {
        body
    };
    media.push("ID3:Version", format!("2.{major}"));
    let mut at = 0;
    if flags & 0x40 != 0 && *major >= 3 {
        // An extended header comes first.
        at = match major {
            3 => Order::Big.u32(body, 0).map_or(body.len(), |length| length as usize + 4),
            _ => gentle(body, 0).unwrap_or(body.len()),
        };
    }
    let (name_length, header) = if *major == 2 { (3, 6) } else { (4, 10) };
    for _ in 0..MAX_FRAMES {
        let Some(name) = slice(body, at, name_length) else { break };
        // Zeros fill the tag up.
        if name[0] == 0 {
            break;
        }
        if !name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
            media.warn_damaged("a frame of its ID3 tag has no name");
            break;
        }
        let length = match major {
            2 => slice(body, at + 3, 3).map(|b| usize::from(b[0]) << 16 | usize::from(b[1]) << 8 | usize::from(b[2])),
            3 => Order::Big.u32(body, at + 4).map(|length| length as usize),
            // iTunes wrote plain lengths into version 2.4 for years: what leads to another frame is right.
            _ => {
                let plain = Order::Big.u32(body, at + 4).map(|length| length as usize);
                let gentle = gentle(body, at + 4);
                let leads = |length: usize| {
                    let next = at.saturating_add(header).saturating_add(length);
                    body.get(next).is_none_or(|byte| *byte == 0 || byte.is_ascii_uppercase()) && next <= body.len()
                };
                gentle.filter(|length| leads(*length)).or(plain.filter(|length| leads(*length))).or(gentle)
            }
        };
        let Some(length) = length else {
            media.warn_cut("its ID3 tag");
            break;
        };
        let flags = if *major == 2 { 0 } else { Order::Big.u16(body, at + 8).unwrap_or(0) };
        let Some(data) = slice(body, at + header, length) else {
            media.warn_cut("its ID3 tag");
            break;
        };
        at += header + length;
        // Compressed and encrypted frames are left alone.
        let packed = match major {
            3 => flags & 0x00c0 != 0,
            4 => flags & 0x000c != 0,
            _ => false,
        };
        if packed || data.len() > MAX_FRAME {
            continue;
        }
        let unsynced;
        let mut data = data;
        if *major == 4 && flags & 1 != 0 {
            data = data.get(4..).unwrap_or_default();
        }
        if *major == 4 && flags & 2 != 0 {
            unsynced = resync(data);
            data = &unsynced;
        }
        let name = match SHORT.iter().find(|(short, _)| *short == name) {
            Some((_, long)) => (*long).to_owned(),
            None => String::from_utf8_lossy(name).into_owned(),
        };
        frame(&name, data, media);
    }
    end
}

/// Undo the zero bytes that keep a tag from looking like sound.
fn resync(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut after = false;
    for byte in bytes {
        if !(after && *byte == 0) {
            out.push(*byte);
        }
        after = *byte == 0xff;
    }
    out
}

fn frame(name: &str, data: &[u8], media: &mut Media) {
    let Some((encoding, rest)) = data.split_first() else { return };
    match name {
        "TXXX" | "WXXX" => {
            let (key, value) = halves(*encoding, rest);
            let value = if name == "WXXX" { unmarked_text(value) } else { texts(*encoding, value).join(" ") };
            let key = texts(*encoding, key).join(" ");
            media.push(format!("ID3:{name}:{key}"), value);
        }
        "COMM" | "USLT" => {
            let Some(rest) = rest.get(3..) else { return };
            let (key, value) = halves(*encoding, rest);
            // Programs keep their own numbers in comments that have a name.
            let key = texts(*encoding, key).join(" ");
            let name = if key.is_empty() { format!("ID3:{name}") } else { format!("ID3:{name}:{key}") };
            media.push(name, texts(*encoding, value).join(" "));
        }
        "TCON" => {
            for kind in texts(*encoding, rest) {
                media.push("ID3:TCON", genre(&kind));
            }
        }
        _ if name.starts_with('T') => {
            for text in texts(*encoding, rest) {
                media.push(format!("ID3:{name}"), text);
            }
        }
        _ if name.starts_with('W') => media.push(format!("ID3:{name}"), unmarked_text(data)),
        _ => {}
    }
}

/// A name and what follows it, parted by a zero character.
fn halves(encoding: u8, data: &[u8]) -> (&[u8], &[u8]) {
    match encoding {
        1 | 2 => match data.chunks_exact(2).position(|pair| pair == [0, 0]) {
            Some(at) => (&data[..2 * at], &data[2 * at + 2..]),
            None => (&[], data),
        },
        _ => match data.iter().position(|byte| *byte == 0) {
            Some(at) => (&data[..at], &data[at + 1..]),
            None => (&[], data),
        },
    }
}

/// The texts of a frame, parted by zero characters. "Latin-1" holds whatever the writer's system used: in China, GBK.
fn texts(encoding: u8, data: &[u8]) -> Vec<String> {
    let parts: Vec<String> = match encoding {
        1 | 2 => {
            let mut order = Order::Big;
            let mut parts = Vec::new();
            let mut start = 0;
            let pairs = data.len() / 2;
            for at in 0..=pairs {
                if at < pairs && data[2 * at..2 * at + 2] != [0, 0] {
                    continue;
                }
                let mut part = &data[2 * start..2 * at];
                match part.get(..2) {
                    Some([0xff, 0xfe]) => order = Order::Little,
                    Some([0xfe, 0xff]) => order = Order::Big,
                    // Without a mark Windows programs mean their own order.
                    _ if encoding == 1 && start == 0 => order = Order::Little,
                    _ => {}
                }
                if matches!(part.get(..2), Some([0xff, 0xfe] | [0xfe, 0xff])) {
                    part = &part[2..];
                }
                parts.push(utf16_text(part, order));
                start = at + 1;
            }
            parts
        }
        _ => data.split(|byte| *byte == 0).map(unmarked_text).collect(),
    };
    parts.into_iter().filter(|part| !part.is_empty()).take(100).collect()
}

/// A kind of music by its number, where it is one: `(17)`, `17`, `(17)Rock`.
fn genre(text: &str) -> String {
    let digits = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (number, rest) = digits.unwrap_or((text, ""));
    match (number.parse::<usize>(), rest) {
        (Ok(number), "") => GENRES.split('|').nth(number).unwrap_or(text).to_owned(),
        (Ok(_), rest) => rest.to_owned(),
        (Err(_), _) => text.to_owned(),
    }
}

/// Read the tag of version 1 at the end, if there is one; how long it is.
pub(super) fn read_old(bytes: &[u8], media: &mut Media) -> usize {
    let Some(tag) = bytes.len().checked_sub(128).map(|at| &bytes[at..]).filter(|tag| tag.starts_with(b"TAG")) else {
        return 0;
    };
    let comment = if tag[125] == 0 && tag[126] != 0 { &tag[97..125] } else { &tag[97..127] };
    for (name, value) in [
        ("Title", &tag[3..33]),
        ("Artist", &tag[33..63]),
        ("Album", &tag[63..93]),
        ("Year", &tag[93..97]),
        ("Comment", comment),
    ] {
        // A Chinese character cut in half by the field's end is dropped.
        let text = unmarked_text(value);
        let whole = match value.iter().position(|byte| *byte == 0) {
            None if value.len() == 30 && unmarked_text(&value[..29]).chars().any(|c| c as u32 > 0x2e7f) => {
                let shorter = unmarked_text(&value[..29]);
                if text.chars().filter(|c| *c as u32 > 0x2e7f).count() >= shorter.chars().count() {
                    text
                } else {
                    shorter
                }
            }
            _ => text,
        };
        media.push(format!("ID3v1:{name}"), whole);
    }
    if tag[125] == 0 && tag[126] != 0 {
        media.push("ID3v1:Track", tag[126]);
    }
    if let Some(kind) = GENRES.split('|').nth(usize::from(tag[127])) {
        media.push("ID3v1:Genre", kind);
    }
    128
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(major: u8, frames: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
        let body: Vec<u8> = frames
            .iter()
            .flat_map(|(name, data)| [&name[..], &(data.len() as u32).to_be_bytes(), &[0, 0], data].concat())
            .collect();
        let length = [(body.len() >> 7) as u8, (body.len() & 0x7f) as u8];
        [b"ID3", &[major, 0, 0, 0, 0][..], &length, &body].concat()
    }

    fn properties(bytes: &[u8]) -> Vec<(String, String)> {
        let mut media = Media::default();
        assert_eq!(read(bytes, &mut media), bytes.len());
        media.properties.remove(0);
        media.properties
    }

    #[test]
    fn chinese_is_read_in_every_form() {
        let utf16 = |text: &str| -> Vec<u8> {
            [1, 0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
        };
        let gbk = |text: &str| -> Vec<u8> { [&[0][..], &encoding_rs::GBK.encode(text).0].concat() };
        let bytes =
            tag(3, &[(b"TIT2", utf16("月亮代表我的心")), (b"TPE1", gbk("邓丽君")), (b"TCON", b"\0(13)".to_vec())]);
        let named = |name: &str, value: &str| (format!("ID3:{name}"), value.to_owned());
        assert_eq!(
            properties(&bytes),
            [named("TIT2", "月亮代表我的心"), named("TPE1", "邓丽君"), named("TCON", "Pop")]
        );
        let several = tag(4, &[(b"TPE1", "\x03甲\0乙".as_bytes().to_vec())]);
        assert_eq!(properties(&several), [named("TPE1", "甲"), named("TPE1", "乙")]);
    }

    #[test]
    fn the_old_tag_is_read() {
        let mut bytes = vec![0; 128];
        bytes[..3].copy_from_slice(b"TAG");
        let (gbk, ..) = encoding_rs::GBK.encode("茉莉花");
        bytes[3..9].copy_from_slice(&gbk);
        bytes[126] = 7;
        bytes[127] = 255;
        let mut media = Media::default();
        assert_eq!(read_old(&bytes, &mut media), 128);
        assert_eq!(media.properties[0], ("ID3v1:Title".to_owned(), "茉莉花".to_owned()));
        assert_eq!(media.properties[1], ("ID3v1:Track".to_owned(), "7".to_owned()));
        assert_eq!(read_old(b"TAG", &mut media), 0);
    }
}
