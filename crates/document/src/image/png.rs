//! PNG: chunks with checksums, among them text in three forms, EXIF and XMP.

use std::io::Read;

use flate2::Crc;
use flate2::read::ZlibDecoder;

use super::{iptc, read_xmp, tiff};
use crate::media::{Media, Order, number, shown, slice, unmarked_text};

/// A compressed text longer than this is cut.
const MAX_TEXT: u64 = 1 << 20;

/// Chunks beyond this are not looked at; a large picture in small pieces has some ten thousand.
const MAX_CHUNKS: usize = 1_000_000;

/// Read a PNG file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let order = Order::Big;
    let mut at = 8;
    let mut sized = false;
    for _ in 0..MAX_CHUNKS {
        let (Some(length), Some(kind)) = (order.u32(bytes, at), slice(bytes, at + 4, 4)) else {
            media.warn_cut("its chunks");
            break;
        };
        let name = shown(kind);
        let Some(body) = slice(bytes, at + 8, length as usize) else {
            media.warn_cut(&format!("its {name} chunk"));
            break;
        };
        let sum = order.u32(bytes, at + 8 + length as usize);
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(body);
        match sum {
            Some(sum) if sum == crc.sum() => {}
            Some(_) => media.warn_damaged(&format!("the checksum of its {name} chunk at byte {at} is wrong")),
            None => media.warn_cut(&format!("its {name} chunk")),
        }
        at += 12 + length as usize;
        match kind {
            b"IHDR" => {
                if let (Some(width), Some(height), Some(&[bits, colour, compression, filter, interlace])) =
                    (order.u32(body, 0), order.u32(body, 4), body.get(8..13))
                {
                    media.push("PNG:ImageWidth", width);
                    media.push("PNG:ImageHeight", height);
                    media.push("PNG:BitDepth", bits);
                    media.push("PNG:ColorType", colour);
                    media.push("PNG:Compression", compression);
                    media.push("PNG:Filter", filter);
                    media.push("PNG:Interlace", interlace);
                    media.pixels(u64::from(width), u64::from(height));
                    sized = true;
                }
            }
            b"pHYs" => {
                if let (Some(x), Some(y), Some([unit])) = (order.u32(body, 0), order.u32(body, 4), body.get(8..9)) {
                    media.push("PNG:PixelsPerUnitX", x);
                    media.push("PNG:PixelsPerUnitY", y);
                    media.push("PNG:PixelUnits", unit);
                }
            }
            b"gAMA" => {
                if let Some(gamma) = order.u32(body, 0).filter(|gamma| *gamma > 0) {
                    // Written as the exponent that undoes it.
                    media.push("PNG:Gamma", number((100_000.0 / f64::from(gamma) * 1e4).round() / 1e4));
                }
            }
            b"sRGB" => media.push("PNG:SRGBRendering", body.first().copied().unwrap_or_default()),
            b"tIME" => {
                if let (Some(year), Some([month, day, hour, minute, second])) = (order.u16(body, 0), body.get(2..7)) {
                    let time = format!("{year:04}:{month:02}:{day:02} {hour:02}:{minute:02}:{second:02}");
                    media.push("PNG:ModifyDate", time);
                }
            }
            b"eXIf" => tiff::read_exif(body, media),
            b"tEXt" => {
                if let Some((name, text)) = split(body) {
                    note(name, text, media);
                }
            }
            b"zTXt" => {
                if let Some((name, text)) = split(body)
                    && let Some(text) = text.get(1..).and_then(|text| inflate(text, media))
                {
                    note(name, &text, media);
                }
            }
            b"iTXt" => {
                // Name, whether compressed, how, language, translated name, text.
                if let Some((name, rest)) = split(body)
                    && let Some((&[compressed, _], rest)) = rest
                        .split_at_checked(2)
                        .map(|(head, rest)| (<&[u8; 2]>::try_from(head).unwrap_or(&[0, 0]), rest))
                    && let Some((_, rest)) = split(rest)
                    && let Some((_, text)) = split(rest)
                {
                    match compressed {
                        0 => note(name, text, media),
                        _ => {
                            if let Some(text) = inflate(text, media) {
                                note(name, &text, media);
                            }
                        }
                    }
                }
            }
            b"IEND" => break,
            _ => {}
        }
    }
    if !sized {
        media.warn_damaged("nothing in it says how large the picture is");
    }
}

fn split(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = body.iter().position(|byte| *byte == 0)?;
    Some((&body[..end], &body[end + 1..]))
}

fn inflate(text: &[u8], media: &mut Media) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    if ZlibDecoder::new(text).take(MAX_TEXT).read_to_end(&mut out).is_err() {
        media.warn_damaged("a compressed text in it cannot be unpacked");
    }
    (!out.is_empty()).then_some(out)
}

/// A text by its keyword. Some keywords hold other formats.
fn note(name: &[u8], text: &[u8], media: &mut Media) {
    match name {
        b"XML:com.adobe.xmp" => read_xmp(text, media),
        b"Raw profile type exif" | b"Raw profile type APP1" => {
            if let Some(block) = unhex(text) {
                tiff::read_exif(block.strip_prefix(b"Exif\0\0").unwrap_or(&block), media);
            }
        }
        b"Raw profile type iptc" => {
            if let Some(block) = unhex(text) {
                if block.starts_with(b"8BIM") { iptc::read_resources(&block, media) } else { iptc::read(&block, media) }
            }
        }
        b"Raw profile type xmp" => {
            if let Some(block) = unhex(text) {
                read_xmp(&block, media);
            }
        }
        _ if name.starts_with(b"Raw profile") => {}
        _ => media.push(format!("PNG:{}", unmarked_text(name)), unmarked_text(text)),
    }
}

/// ImageMagick's way to put other formats into text: a name, a length, hexadecimal digits.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.trim_start().splitn(3, '\n');
    let (_name, _length, digits) = (lines.next()?, lines.next()?, lines.next()?);
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    Some(digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect())
}
