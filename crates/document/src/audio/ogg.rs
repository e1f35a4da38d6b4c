//! Ogg: pages of packets; the first two packets of a stream describe it, the last page says how long it is.

use super::{flac, read_comments};
use crate::media::{Media, Order, number, slice};

/// How much of the beginning is searched for the two packets. Comments with a cover picture take a megabyte or two.
const HEAD: usize = 4 << 20;

/// How much of the end is searched for the last page.
const TAIL: usize = 256 << 10;

/// Read an Ogg file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let order = Order::Little;
    let packets = packets(bytes, media);
    let Some(first) = packets.first() else {
        return media.warn_cut("its first page");
    };
    let comments = packets.get(1).map(Vec::as_slice).unwrap_or_default();
    let serial = order.u32(bytes, 14);
    let last = last_position(bytes, serial).unwrap_or(0);
    let mut seconds = 0.0;
    match first.as_slice() {
        [1, b'v', b'o', b'r', b'b', b'i', b's', ..] => {
            let channels = first.get(11).copied().unwrap_or_default();
            let rate = order.u32(first, 12).unwrap_or(0);
            media.push("Vorbis:AudioChannels", channels);
            media.push("Vorbis:SampleRate", rate);
            if let Some(nominal) = order.u32(first, 20).filter(|rate| *rate > 0 && *rate < 1 << 30) {
                media.push("Vorbis:NominalBitrate", nominal);
            }
            if rate > 0 {
                seconds = last as f64 / f64::from(rate);
            }
            match comments {
                [3, b'v', b'o', b'r', b'b', b'i', b's', rest @ ..] => read_comments(rest, media),
                _ => media.warn_damaged("its comments are missing"),
            }
        }
        head if head.starts_with(b"OpusHead") => {
            media.push("Opus:AudioChannels", head.get(9).copied().unwrap_or_default());
            media.push("Opus:SampleRate", order.u32(head, 12).unwrap_or(0));
            let skip = u64::from(order.u16(head, 10).unwrap_or(0));
            // Positions count at this rate whatever the sound's own.
            seconds = last.saturating_sub(skip) as f64 / 48_000.0;
            match comments.strip_prefix(b"OpusTags") {
                Some(rest) => read_comments(rest, media),
                None => media.warn_damaged("its comments are missing"),
            }
        }
        head if head.starts_with(b"\x7fFLAC") => {
            if let Some(info) = Order::Big.u64(head, 13 + 4 + 10) {
                seconds = flac::read_info(info, media);
            }
            if let Some(rest) = comments.get(4..) {
                read_comments(rest, media);
            }
        }
        head if head.starts_with(b"Speex   ") => {
            let rate = order.u32(head, 36).unwrap_or(0);
            media.push("Speex:SampleRate", rate);
            media.push("Speex:Channels", order.u32(head, 48).unwrap_or(0));
            if rate > 0 {
                seconds = last as f64 / f64::from(rate);
            }
            read_comments(comments, media);
        }
        _ => return media.warn("unsupported", "The file is an Ogg container of a kind whose content is not read."),
    }
    if seconds > 0.0 {
        media.push("Audio:BitRate", number((bytes.len() as f64 * 8.0 / seconds).round()));
        media.duration(seconds);
    } else {
        media.warn_damaged("nothing in it says how long it is");
    }
}

/// The first two packets of the first stream.
fn packets(bytes: &[u8], media: &mut Media) -> Vec<Vec<u8>> {
    let order = Order::Little;
    let serial = order.u32(bytes, 14);
    let mut packets = Vec::new();
    let mut current = Vec::new();
    let mut at = 0;
    while at < bytes.len().min(HEAD) && packets.len() < 2 {
        if slice(bytes, at, 4) != Some(b"OggS") {
            media.warn_damaged(&format!("there is no page where one must begin, at byte {at}"));
            break;
        }
        let Some(table) = bytes.get(at + 26).and_then(|segments| slice(bytes, at + 27, usize::from(*segments))) else {
            media.warn_cut("a page");
            break;
        };
        let own = order.u32(bytes, at + 14) == serial;
        at += 27 + table.len();
        for length in table {
            let Some(part) = slice(bytes, at, usize::from(*length)) else {
                media.warn_cut("a page");
                return packets;
            };
            at += part.len();
            if own && packets.len() < 2 {
                current.extend_from_slice(part);
                // A part that is not full ends the packet.
                if *length < 255 {
                    packets.push(std::mem::take(&mut current));
                }
            }
        }
    }
    packets
}

/// The position that the last page of the stream gives.
fn last_position(bytes: &[u8], serial: Option<u32>) -> Option<u64> {
    let order = Order::Little;
    let from = bytes.len().saturating_sub(TAIL);
    memchr::memmem::rfind_iter(&bytes[from..], b"OggS")
        .map(|at| from + at)
        .filter(|at| order.u32(bytes, at + 14) == serial)
        .filter_map(|at| order.u64(bytes, at + 6))
        .find(|position| *position != u64::MAX && *position > 0)
}
