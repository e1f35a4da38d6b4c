//! JPEG: segments up to the picture itself, among them EXIF, XMP, IPTC and the frame that says how large it is.

use super::{iptc, read_xmp, tiff};
use crate::media::{Media, Order, slice, unmarked_text};

/// Bytes of XMP beyond the first packet that are gathered from its pieces.
const MAX_EXTENDED: usize = 4 << 20;

/// Read a JPEG file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let order = Order::Big;
    let mut framed = false;
    let (mut extended, mut resources) = (Vec::new(), Vec::new());
    let mut at = 2;
    loop {
        // Any number of fill bytes may stand before a marker.
        while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (Some(0xff), Some(marker)) = (bytes.get(at), bytes.get(at + 1).copied()) else {
            if at + 1 >= bytes.len() {
                media.warn_cut("its headers");
                break;
            }
            media.warn_damaged(&format!("there is no segment where one must begin, at byte {at}"));
            // The next marker that opens a segment, if there is one.
            let next = bytes[at..].windows(2).position(|pair| pair[0] == 0xff && (0xc0..0xff).contains(&pair[1]));
            match next {
                Some(next) => at += next.max(1),
                None => break,
            }
            continue;
        };
        at += 2;
        match marker {
            0x01 | 0xd0..=0xd7 => continue,
            // The picture begins, or the file ends.
            0xda => {
                let tail = &bytes[at.max(bytes.len().saturating_sub(64 << 10))..];
                if !tail.windows(2).any(|pair| pair == [0xff, 0xd9]) {
                    media.warn_cut("the picture");
                }
                break;
            }
            0xd9 => break,
            _ => {}
        }
        let Some(length) = order.u16(bytes, at).map(usize::from).filter(|length| *length >= 2) else {
            media.warn_cut("its headers");
            break;
        };
        let Some(body) = slice(bytes, at + 2, length - 2) else {
            media.warn_cut("its headers");
            break;
        };
        at += length;
        match marker {
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                let (Some(&[bits]), Some(height), Some(width), Some(components)) =
                    (body.get(..1), order.u16(body, 1), order.u16(body, 3), body.get(5))
                else {
                    media.warn_damaged("the frame of the picture is too short");
                    continue;
                };
                if !framed {
                    framed = true;
                    media.push("File:ImageWidth", width);
                    media.push("File:ImageHeight", height);
                    media.push("File:BitsPerSample", bits);
                    media.push("File:ColorComponents", components);
                    media.push("File:EncodingProcess", marker - 0xc0);
                    media.pixels(u64::from(width), u64::from(height));
                }
            }
            0xe0 if body.starts_with(b"JFIF\0") => {
                if let (Some([major, minor]), Some([unit])) = (slice(body, 5, 2), slice(body, 7, 1)) {
                    media.push("JFIF:JFIFVersion", format!("{major} {minor}"));
                    media.push("JFIF:ResolutionUnit", unit);
                }
                if let (Some(x), Some(y)) = (order.u16(body, 8), order.u16(body, 10)) {
                    media.push("JFIF:XResolution", x);
                    media.push("JFIF:YResolution", y);
                }
            }
            0xe1 if body.starts_with(b"Exif\0") => tiff::read_exif(&body[body.len().min(6)..], media),
            0xe1 if body.starts_with(b"http://ns.adobe.com/xap/1.0/\0") => read_xmp(&body[29..], media),
            0xe1 if body.starts_with(b"http://ns.adobe.com/xmp/extension/\0") => {
                // After the name: a checksum of 32 bytes, the whole length and this piece's place.
                if let Some(piece) = body.get(35 + 40..)
                    && extended.len() + piece.len() <= MAX_EXTENDED
                {
                    extended.extend_from_slice(piece);
                }
            }
            0xed if body.starts_with(b"Photoshop 3.0\0") => resources.extend_from_slice(&body[14..]),
            0xee if body.starts_with(b"Adobe") && body.len() >= 12 => {
                media.push("APP14:ColorTransform", body[11]);
            }
            0xfe => media.push("File:Comment", unmarked_text(body)),
            _ => {}
        }
    }
    // Blocks run on from one segment to the next.
    if !resources.is_empty() {
        iptc::read_resources(&resources, media);
    }
    if !extended.is_empty() {
        read_xmp(&extended, media);
    }
    if !framed {
        media.warn_damaged("nothing in it says how large the picture is");
    }
}
