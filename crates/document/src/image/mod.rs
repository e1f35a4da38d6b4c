//! Images: how large they are, their colour and resolution, and what cameras, programs and people wrote into them.
//!
//! Pixels are never decoded. The readers are our own: each format's headers take a page of code, and the crates at hand read either EXIF
//! alone or whole pictures. EXIF and TIFF are one format (`tiff`), IPTC and Photoshop's blocks another (`iptc`); JPEG, PNG and the
//! small ones carry them.

mod iptc;
mod jpeg;
mod png;
mod simple;
mod tiff;

use crate::media::{Media, Order};
use crate::xmp;

/// Read an image; `None` if the bytes begin like none of the formats known here.
pub(crate) fn read(bytes: &[u8]) -> Option<Media> {
    let mut media = Media::default();
    match bytes {
        [0xff, 0xd8, 0xff, ..] => jpeg::read(bytes, &mut media),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png::read(bytes, &mut media),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => simple::read_gif(bytes, &mut media),
        [b'B', b'M', ..] if bytes.len() >= 14 && has_bmp_header(bytes) => simple::read_bmp(bytes, &mut media),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => simple::read_webp(bytes, &mut media),
        [b'8', b'B', b'P', b'S', 0, 1 | 2, ..] => simple::read_psd(bytes, &mut media),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] | [b'I', b'I', 43, 0, ..] | [b'M', b'M', 0, 43, ..] => {
            tiff::read(bytes, &mut media)
        }
        _ => return None,
    }
    Some(media)
}

/// Whether the header that follows has a length some version of BMP has: two letters alone are too little to go by.
fn has_bmp_header(bytes: &[u8]) -> bool {
    Order::Little.u32(bytes, 14).is_none_or(|length| (12..=256).contains(&length))
}

/// Note what an XMP packet in an image says.
fn read_xmp(bytes: &[u8], media: &mut Media) {
    let packet = xmp::read(bytes);
    for (name, value) in packet.values {
        media.push(format!("XMP:{name}"), value);
    }
    if let Some(fault) = packet.fault {
        media.warn_damaged(&format!("its XMP packet cannot be read wholly, {fault}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_image() {
        for bytes in [&b""[..], b"BM", b"GIF8", b"RIFF", b"\xff\xd8", b"hello"] {
            assert!(read(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn headers_alone_give_a_warning() {
        for bytes in [
            &b"\xff\xd8\xff"[..],
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"BM\0\0\0\0\0\0\0\0\0\0\0\0",
            b"RIFF\0\0\0\0WEBP",
            b"8BPS\0\x01",
            b"II*\0",
            b"MM\0*\0\0\0\x08",
        ] {
            assert!(!read(bytes).unwrap().warnings.is_empty(), "{bytes:?}");
        }
    }
}
