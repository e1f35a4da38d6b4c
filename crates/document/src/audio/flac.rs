//! FLAC: blocks in front of the sound.

use super::read_comments;
use crate::media::{Media, Order, number, slice};

/// Read a FLAC file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let order = Order::Big;
    let mut at = 4;
    let mut described = false;
    let mut seconds = 0.0;
    for _ in 0..1000 {
        let Some(head) = order.u32(bytes, at) else {
            media.warn_cut("its blocks");
            break;
        };
        let length = (head & 0xff_ffff) as usize;
        let Some(body) = slice(bytes, at + 4, length) else {
            media.warn_cut("its blocks");
            break;
        };
        match head >> 24 & 0x7f {
            0 => {
                if let Some(info) = order.u64(body, 10) {
                    described = true;
                    seconds = read_info(info, media);
                }
            }
            4 => read_comments(body, media),
            _ => {}
        }
        at += 4 + length;
        if head >> 31 == 1 {
            break;
        }
    }
    if described {
        if seconds > 0.0 {
            media.push("Audio:BitRate", number((bytes.len().saturating_sub(at) as f64 * 8.0 / seconds).round()));
            media.duration(seconds);
        }
        if bytes.len() <= at {
            media.warn_cut("its blocks");
        }
    } else {
        media.warn_damaged("nothing in it describes the sound");
    }
}

/// What the first block packs into eight bytes: rate, channels, bits and samples; the seconds they make.
pub(super) fn read_info(info: u64, media: &mut Media) -> f64 {
    let rate = info >> 44;
    let samples = info & 0xf_ffff_ffff;
    media.push("FLAC:SampleRate", rate);
    media.push("FLAC:Channels", (info >> 41 & 7) + 1);
    media.push("FLAC:BitsPerSample", (info >> 36 & 31) + 1);
    media.push("FLAC:TotalSamples", samples);
    if rate == 0 {
        media.warn_damaged("the sound has no sample rate");
        return 0.0;
    }
    samples as f64 / rate as f64
}
