//! WAV: chunks, among them the form of the sound, a list of texts, the broadcasters' own and ID3.

use super::id3;
use crate::media::{Media, Order, number, shown, slice, unmarked_encoding, unmarked_text};

/// Read a WAV file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let order = if bytes.starts_with(b"RIFX") { Order::Big } else { Order::Little };
    let (mut rate, mut sound, mut long) = (0, None, None);
    let mut at = 12;
    for _ in 0..10_000 {
        let (Some(kind), Some(length)) = (slice(bytes, at, 4), order.u32(bytes, at + 4)) else { break };
        let name = shown(kind);
        let length = match (length, long) {
            (u32::MAX, Some(long)) => long,
            (length, _) => length as usize,
        };
        let rest = &bytes[at + 8..];
        let body = &rest[..length.min(rest.len())];
        if body.len() < length {
            media.warn_cut(&format!("its {name} chunk"));
        }
        match kind {
            b"ds64" => long = order.u64(body, 8).and_then(|length| usize::try_from(length).ok()),
            b"fmt " => {
                let names = [(0, "Encoding"), (2, "NumChannels"), (14, "BitsPerSample")];
                for (at, name) in names {
                    if let Some(value) = order.u16(body, at) {
                        media.push(format!("RIFF:{name}"), value);
                    }
                }
                if let Some(value) = order.u32(body, 4) {
                    media.push("RIFF:SampleRate", value);
                }
                rate = order.u32(body, 8).unwrap_or(0);
                media.push("RIFF:AvgBytesPerSec", rate);
            }
            b"data" => sound = Some(body.len()),
            b"LIST" if body.starts_with(b"INFO") => read_list(&body[4..], order, media),
            b"bext" => read_broadcast(body, order, media),
            b"id3 " | b"ID3 " if body.starts_with(b"ID3") => {
                id3::read(body, media);
            }
            _ => {}
        }
        at = at.saturating_add(8).saturating_add(length.saturating_add(1) & !1);
        if at >= bytes.len() {
            break;
        }
    }
    match sound {
        Some(sound) if rate > 0 => {
            media.push("Audio:BitRate", number(f64::from(rate) * 8.0));
            media.duration(sound as f64 / f64::from(rate));
        }
        Some(_) => media.warn_damaged("nothing in it describes the sound"),
        None => media.warn_cut("its chunks"),
    }
}

/// Texts with names of four letters, in an encoding nobody wrote down.
fn read_list(list: &[u8], order: Order, media: &mut Media) {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..200 {
        let (Some(name), Some(length)) = (slice(list, at, 4), order.u32(list, at + 4)) else { break };
        let Some(text) = slice(list, at + 8, length as usize) else {
            media.warn_cut("its list of texts");
            break;
        };
        found.push((name, text));
        at += 8 + ((length as usize + 1) & !1);
    }
    let all: Vec<u8> = found.iter().flat_map(|(_, text)| text.iter().filter(|byte| **byte != 0)).copied().collect();
    let encoding = unmarked_encoding(&all);
    for (name, text) in found {
        if name.iter().all(u8::is_ascii_alphanumeric) {
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            let text = encoding.decode_without_bom_handling(&text[..end]).0;
            media.push(format!("RIFF:{}", String::from_utf8_lossy(name)), text);
        }
    }
}

/// What broadcasters write: fields of fixed length.
fn read_broadcast(body: &[u8], order: Order, media: &mut Media) {
    let mut field = |name: &str, at: usize, length: usize| {
        if let Some(text) = slice(body, at, length) {
            media.push(format!("RIFF:{name}"), unmarked_text(text));
        }
    };
    field("Description", 0, 256);
    field("Originator", 256, 32);
    field("OriginatorReference", 288, 32);
    if let (Some(date), Some(time)) = (slice(body, 320, 10), slice(body, 330, 8))
        && date[0].is_ascii_digit()
    {
        let moment = format!("{} {}", unmarked_text(date).replace('-', ":"), unmarked_text(time));
        media.push("RIFF:DateTimeOriginal", moment);
    }
    if let Some(reference) = order.u64(body, 338) {
        media.push("RIFF:TimeReference", reference);
    }
}
