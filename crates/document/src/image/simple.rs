//! GIF, BMP, WebP and PSD: formats whose headers take a few lines each.

use super::{iptc, read_xmp, tiff};
use crate::media::{Media, Order, shown, slice, unmarked_text};
use crate::xmp;

/// Blocks of an animation beyond this are not counted.
const MAX_BLOCKS: usize = 200_000;

/// Read a GIF file.
pub(super) fn read_gif(bytes: &[u8], media: &mut Media) {
    let order = Order::Little;
    let (Some(width), Some(height), Some([flags])) = (order.u16(bytes, 6), order.u16(bytes, 8), slice(bytes, 10, 1))
    else {
        return media.warn_cut("the header");
    };
    media.push("GIF:GIFVersion", unmarked_text(&bytes[3..6]));
    media.push("GIF:ImageWidth", width);
    media.push("GIF:ImageHeight", height);
    media.push("GIF:BitsPerPixel", (flags & 7) + 1);
    media.push("GIF:ColorResolutionDepth", (flags >> 4 & 7) + 1);
    media.push("GIF:HasColorMap", flags >> 7);
    media.pixels(u64::from(width), u64::from(height));
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*flags);
    let (mut frames, mut hundredths) = (0_u64, 0_u64);
    for _ in 0..MAX_BLOCKS {
        match bytes.get(at) {
            Some(0x3b) => break,
            Some(0x2c) => {
                frames += 1;
                let Some(flags) = bytes.get(at + 9) else {
                    media.warn_cut("a frame");
                    break;
                };
                // The table of colours, the size of a code, then the picture in pieces.
                let (_, end) = pieces(bytes, at + 11 + table(*flags), 0);
                at = end;
            }
            Some(0x21) => {
                let label = bytes.get(at + 1).copied().unwrap_or_default();
                let xmp = label == 0xff && slice(bytes, at + 3, 11) == Some(b"XMP DataXMP");
                if xmp {
                    // The packet stands there as it is, in place of pieces.
                    if let Some(packet) = xmp::find(&bytes[at..]) {
                        read_xmp(packet, media);
                    }
                }
                let keep = if label == 0xfe { 64 << 10 } else { 0 };
                if label == 0xf9 {
                    hundredths += u64::from(order.u16(bytes, at + 4).unwrap_or(0));
                }
                let (text, end) = pieces(bytes, at + 2, keep);
                if label == 0xfe {
                    media.push("GIF:Comment", unmarked_text(&text));
                }
                at = end;
            }
            Some(other) => {
                media.warn_damaged(&format!("there is no block of the byte {other:#04x} that stands at byte {at}"));
                break;
            }
            None => {
                media.warn_cut("its frames");
                break;
            }
        }
    }
    if frames > 1 {
        media.push("GIF:FrameCount", frames);
        media.push("GIF:Duration", crate::media::number(hundredths as f64 / 100.0));
    }
}

/// The pieces from `at`, each after its length, and where they end; no more than `keep` bytes of them.
fn pieces(bytes: &[u8], mut at: usize, keep: usize) -> (Vec<u8>, usize) {
    let mut whole = Vec::new();
    while let Some(length) = bytes.get(at).copied().filter(|length| *length > 0) {
        let body = slice(bytes, at + 1, usize::from(length)).unwrap_or_default();
        if whole.len() + body.len() <= keep {
            whole.extend_from_slice(body);
        }
        at += 1 + usize::from(length);
    }
    (whole, at + 1)
}

/// Read a BMP file.
pub(super) fn read_bmp(bytes: &[u8], media: &mut Media) {
    let order = Order::Little;
    let header = order.u32(bytes, 14);
    let said = order.u32(bytes, 2).unwrap_or(0) as usize;
    let (width, height, bits) = match header {
        Some(12) => (order.u16(bytes, 18).map(u32::from), order.u16(bytes, 20).map(u32::from), order.u16(bytes, 24)),
        Some(16..=512) => (
            order.u32(bytes, 18),
            // A negative height means that the picture stands upside up.
            order.u32(bytes, 22).map(|height| (height as i32).unsigned_abs()),
            order.u16(bytes, 28),
        ),
        Some(_) => return media.warn_damaged("its header has a length that no version of the format has"),
        None => return media.warn_cut("the header"),
    };
    let (Some(width), Some(height), Some(bits)) = (width, height, bits) else { return media.warn_cut("the header") };
    media.push("File:ImageWidth", width);
    media.push("File:ImageHeight", height);
    media.push("File:BitDepth", bits);
    if header != Some(12) {
        for (at, name) in [(30, "Compression"), (46, "NumColors")] {
            if let Some(value) = order.u32(bytes, at) {
                media.push(format!("File:{name}"), value);
            }
        }
        for (at, name) in [(38, "PixelsPerMeterX"), (42, "PixelsPerMeterY")] {
            if let Some(value) = order.u32(bytes, at) {
                media.push(format!("File:{name}"), value);
            }
        }
    }
    media.pixels(u64::from(width), u64::from(height));
    if said > bytes.len() {
        media.warn_cut("the picture");
    }
}

/// Read a WebP file.
pub(super) fn read_webp(bytes: &[u8], media: &mut Media) {
    let order = Order::Little;
    let three = |at: usize| slice(bytes, at, 3).map(|b| u32::from(b[0]) | u32::from(b[1]) << 8 | u32::from(b[2]) << 16);
    let mut at = 12;
    let mut size = None;
    let mut frames = 0;
    for _ in 0..MAX_BLOCKS {
        let (Some(kind), Some(length)) = (slice(bytes, at, 4), order.u32(bytes, at + 4)) else { break };
        let Some(body) = slice(bytes, at + 8, length as usize) else {
            media.warn_cut(&format!("its {} chunk", shown(kind)));
            break;
        };
        match kind {
            b"VP8X" => {
                if let (Some(width), Some(height)) = (three(at + 12), three(at + 15)) {
                    size = Some((width + 1, height + 1));
                    media.push("RIFF:WebP_Flags", body.first().copied().unwrap_or_default());
                }
            }
            b"VP8 " if size.is_none() => {
                if slice(body, 3, 3) == Some(&[0x9d, 0x01, 0x2a])
                    && let (Some(width), Some(height)) = (order.u16(body, 6), order.u16(body, 8))
                {
                    size = Some((u32::from(width) & 0x3fff, u32::from(height) & 0x3fff));
                }
            }
            b"VP8L" if size.is_none() => {
                if body.first() == Some(&0x2f)
                    && let Some(bits) = order.u32(body, 1)
                {
                    size = Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1));
                    media.push("RIFF:AlphaIsUsed", bits >> 28 & 1);
                }
            }
            b"ANMF" => frames += 1,
            b"EXIF" => tiff::read_exif(body.strip_prefix(b"Exif\0\0").unwrap_or(body), media),
            b"XMP " => read_xmp(body, media),
            _ => {}
        }
        at += 8 + ((length as usize + 1) & !1);
    }
    if frames > 1 {
        media.push("RIFF:FrameCount", frames);
    }
    match size {
        Some((width, height)) => {
            media.push("RIFF:ImageWidth", width);
            media.push("RIFF:ImageHeight", height);
            media.pixels(u64::from(width), u64::from(height));
        }
        None => media.warn_damaged("nothing in it says how large the picture is"),
    }
    if order.u32(bytes, 4).is_some_and(|said| said as usize > bytes.len() - 8) {
        media.warn_cut("its chunks");
    }
}

/// Read a Photoshop file, of either size.
pub(super) fn read_psd(bytes: &[u8], media: &mut Media) {
    let order = Order::Big;
    let (Some(channels), Some(height), Some(width), Some(depth), Some(mode)) =
        (order.u16(bytes, 12), order.u32(bytes, 14), order.u32(bytes, 18), order.u16(bytes, 22), order.u16(bytes, 24))
    else {
        return media.warn_cut("the header");
    };
    media.push("Photoshop:NumChannels", channels);
    media.push("Photoshop:ImageHeight", height);
    media.push("Photoshop:ImageWidth", width);
    media.push("Photoshop:BitDepth", depth);
    media.push("Photoshop:ColorMode", mode);
    media.pixels(u64::from(width), u64::from(height));
    let colours = order.u32(bytes, 26).unwrap_or(0) as usize;
    let resources = 30_usize.saturating_add(colours);
    match order.u32(bytes, resources).and_then(|length| slice(bytes, resources + 4, length as usize)) {
        Some(blocks) => {
            iptc::read_resources(blocks, media);
            let layers = resources + 4 + blocks.len();
            // In the large kind of file lengths of layers are long.
            let large = bytes.get(5) == Some(&2);
            let length = if large { order.u64(bytes, layers) } else { order.u32(bytes, layers).map(u64::from) };
            let picture = length
                .and_then(|length| usize::try_from(length).ok())
                .and_then(|length| layers.checked_add(if large { 8 } else { 4 })?.checked_add(length));
            if !picture
                .is_some_and(|at| is_whole(bytes, at, large, usize::from(channels) * height as usize, width, depth))
            {
                media.warn_cut("the layers or the picture");
            }
        }
        None => media.warn_cut("its resources"),
    }
}

/// Whether the picture of a Photoshop file, at `at`, is there to its end; packed rows each have their length in front.
fn is_whole(bytes: &[u8], at: usize, large: bool, rows: usize, width: u32, depth: u16) -> bool {
    let order = Order::Big;
    let Some(packing) = order.u16(bytes, at) else { return false };
    let start = at + 2;
    let rest = bytes.len().saturating_sub(start);
    match packing {
        0 => rows.saturating_mul((width as usize * usize::from(depth)).div_ceil(8)) <= rest,
        1 => {
            let size = if large { 4 } else { 2 };
            let Some(table) = rows.checked_mul(size).and_then(|length| slice(bytes, start, length)) else {
                return false;
            };
            let length = |row: &[u8]| row.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            table.chunks_exact(size).map(length).fold(table.len(), usize::saturating_add) <= rest
        }
        _ => rest > 0,
    }
}
