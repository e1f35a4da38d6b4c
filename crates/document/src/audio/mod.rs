//! Sound and film: how long, how dense, how many channels, and the tags people gave it.
//!
//! Nothing is decoded. The readers are our own: what is wanted stands in a few headers, while a crate for tags brings writers for twenty
//! formats along and takes Chinese tags without a mark for Latin ones.

mod flac;
mod id3;
mod mp3;
mod mp4;
mod ogg;
mod wav;

use crate::media::Media;

/// Read a file of sound or film; `None` if the bytes begin like none of the formats known here.
pub(crate) fn read(bytes: &[u8]) -> Option<Media> {
    let mut media = Media::default();
    match bytes {
        [b'R', b'I', b'F', b'F' | b'X', _, _, _, _, b'W', b'A', b'V', b'E', ..]
        | [b'R', b'F', b'6', b'4', _, _, _, _, b'W', b'A', b'V', b'E', ..] => wav::read(bytes, &mut media),
        [b'f', b'L', b'a', b'C', ..] => flac::read(bytes, &mut media),
        [b'O', b'g', b'g', b'S', ..] => ogg::read(bytes, &mut media),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] | [_, _, _, _, b'm', b'o', b'o', b'v', ..] => {
            mp4::read(bytes, &mut media);
        }
        [b'I', b'D', b'3', major, _, flags, ..] if *major < 0xff && flags & 0x0f == 0 => {
            let end = id3::read(bytes, &mut media);
            match bytes.get(end..) {
                Some(rest) if rest.starts_with(b"fLaC") => flac::read(rest, &mut media),
                _ => mp3::read(bytes, end, &mut media),
            }
        }
        [0xff, second, ..] if second & 0xe0 == 0xe0 && mp3::is_stream(bytes) => mp3::read(bytes, 0, &mut media),
        _ => return None,
    }
    Some(media)
}

/// A list of `NAME=value` texts, as FLAC and Ogg have it.
fn read_comments(bytes: &[u8], media: &mut Media) {
    let order = crate::media::Order::Little;
    let mut at = 0;
    let mut next = || -> Option<&[u8]> {
        let length = order.u32(bytes, at)? as usize;
        let text = crate::media::slice(bytes, at + 4, length)?;
        at += 4 + length;
        Some(text)
    };
    let Some(vendor) = next() else { return media.warn_cut("its comments") };
    let count = order.u32(bytes, 4 + vendor.len()).unwrap_or(0);
    media.push("Vorbis:Vendor", String::from_utf8_lossy(vendor));
    at += 4;
    for index in 0..count.min(1000) {
        let Some(length) = order.u32(bytes, at) else { return media.warn_cut("its comments") };
        let Some(text) = crate::media::slice(bytes, at + 4, length as usize) else {
            return media.warn_damaged(&format!("comment {} of {count} lies outside of it", index + 1));
        };
        at += 4 + length as usize;
        let Some(equals) = text.iter().position(|byte| *byte == b'=') else { continue };
        let name = String::from_utf8_lossy(&text[..equals]).to_uppercase();
        // Pictures are texts there too.
        if name.len() <= 60 && !name.contains("PICTURE") && !name.contains("COVERART") {
            media.push(format!("Vorbis:{name}"), crate::media::unmarked_text(&text[equals + 1..]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_sound() {
        for bytes in [&b""[..], b"RIFF", b"ID3", b"\xff\xfb", b"hello there", b"OggX"] {
            assert!(read(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn headers_alone_give_a_warning() {
        for bytes in [
            &b"RIFF\0\0\0\0WAVE"[..],
            b"fLaC",
            b"OggS",
            b"\0\0\0\x08ftyp",
            b"ID3\x03\0\0\0\0\0\x7f",
            b"ID3\x04\0\0\x7f\x7f\x7f\x7f",
        ] {
            assert!(!read(bytes).unwrap().warnings.is_empty(), "{bytes:?}");
        }
    }

    #[test]
    fn comments_are_read_as_far_as_they_go() {
        let mut media = Media::default();
        let mut bytes = b"\x03\0\0\0own\x02\0\0\0\x0c\0\0\0title=\xe4\xba\x91\xe5\xbd\xa9".to_vec();
        read_comments(&bytes, &mut media);
        assert_eq!(media.properties[1], ("Vorbis:TITLE".to_owned(), "云彩".to_owned()));
        assert!(!media.warnings.is_empty(), "the second comment is missing");
        bytes.extend([0xff; 4]);
        read_comments(&bytes, &mut Media::default());
    }
}
