//! MPEG audio: the header of a frame, and how many frames there are.

use super::id3;
use crate::media::{Media, Order, number, slice};

/// How far the first frame may lie behind the tags.
const SEARCH: usize = 64 << 10;

/// Kilobits a second by index, for version 1 and the layers 1, 2, 3; then for versions 2 and 2.5: layer 1, the others.
const BIT_RATES: [[u32; 15]; 5] = [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// What a frame's header says.
struct Frame {
    version: &'static str,
    layer: u32,
    bit_rate: u32,
    sample_rate: u32,
    samples: u32,
    mode: u8,
    length: usize,
}

impl Frame {
    fn read(bytes: &[u8], at: usize) -> Option<Frame> {
        let head = Order::Big.u32(bytes, at)?;
        if head >> 21 != 0x7ff {
            return None;
        }
        let version = match head >> 19 & 3 {
            0 => "2.5",
            2 => "2",
            3 => "1",
            _ => return None,
        };
        let layer = 4 - (head >> 17 & 3);
        let bits = (head >> 12 & 15) as usize;
        let rate = (head >> 10 & 3) as usize;
        if layer == 4 || bits == 0 || bits == 15 || rate == 3 {
            return None;
        }
        let table = match (version, layer) {
            ("1", layer) => layer as usize - 1,
            (_, 1) => 3,
            _ => 4,
        };
        let bit_rate = BIT_RATES[table][bits] * 1000;
        let sample_rate = [44_100, 48_000, 32_000][rate]
            / match version {
                "1" => 1,
                "2" => 2,
                _ => 4,
            };
        let samples = match (layer, version) {
            (1, _) => 384,
            (2, _) | (3, "1") => 1152,
            _ => 576,
        };
        let padding = head >> 9 & 1;
        let length = match layer {
            1 => (12 * bit_rate / sample_rate + padding) * 4,
            _ => samples / 8 * bit_rate / sample_rate + padding,
        };
        let mode = (head >> 6 & 3) as u8;
        Some(Frame { version, layer, bit_rate, sample_rate, samples, mode, length: length as usize })
    }
}

/// Whether a second frame follows the first: one header alone is four bytes of chance.
pub(super) fn is_stream(bytes: &[u8]) -> bool {
    Frame::read(bytes, 0).is_some_and(|frame| Frame::read(bytes, frame.length).is_some())
}

/// Read the sound from `start` on, and the old tag behind it.
pub(super) fn read(bytes: &[u8], start: usize, media: &mut Media) {
    let end = bytes.len() - id3::read_old(bytes, media);
    let start = start.min(end);
    let sound = &bytes[start..end];
    let first = (0..sound.len().min(SEARCH)).find(|at| {
        sound[*at] == 0xff
            && Frame::read(sound, *at).is_some_and(|frame| {
                at + frame.length >= sound.len() || Frame::read(sound, at + frame.length).is_some()
            })
    });
    let Some((first, frame)) = first.and_then(|at| Some((at, Frame::read(sound, at)?))) else {
        return media.warn_damaged("no sound was found behind its tag");
    };
    media.push("MPEG:MPEGAudioVersion", frame.version);
    media.push("MPEG:AudioLayer", frame.layer);
    media.push("MPEG:SampleRate", frame.sample_rate);
    media.push("MPEG:ChannelMode", frame.mode);
    media.push("MPEG:AudioBitrate", frame.bit_rate);
    media.push("Audio:Channels", if frame.mode == 3 { 1 } else { 2 });
    let bytes_of_sound = (sound.len() - first) as u64;
    let (seconds, bit_rate) = match counted(sound, first, &frame) {
        Some(frames) if frames > 0 && u64::from(frames) * 16 < bytes_of_sound => {
            let seconds = f64::from(frames) * f64::from(frame.samples) / f64::from(frame.sample_rate);
            (seconds, bytes_of_sound as f64 * 8.0 / seconds)
        }
        counted => {
            // A count that the bytes cannot hold is damage, or the rest is missing.
            if counted.is_some_and(|frames| frames > 0) {
                media.warn_cut("the sound, of which it counts more frames than it has,");
            }
            walk(sound, first, media)
        }
    };
    media.push("Audio:BitRate", number(bit_rate.round()));
    media.duration(seconds);
}

/// The number of frames as an encoder wrote it into the first.
fn counted(sound: &[u8], at: usize, frame: &Frame) -> Option<u32> {
    let side = match (frame.version, frame.mode) {
        ("1", 3) => 17,
        ("1", _) => 32,
        (_, 3) => 9,
        _ => 17,
    };
    let tag = at + 4 + side;
    match slice(sound, tag, 4)? {
        b"Xing" | b"Info" => (Order::Big.u32(sound, tag + 4)? & 1 != 0).then(|| Order::Big.u32(sound, tag + 8))?,
        _ => match slice(sound, at + 36, 4)? {
            b"VBRI" => Order::Big.u32(sound, at + 36 + 14),
            _ => None,
        },
    }
}

/// Seconds and bits a second, by going from frame to frame. Where one is damaged the rest is taken to be like what came before.
fn walk(sound: &[u8], first: usize, media: &mut Media) -> (f64, f64) {
    let (mut at, mut seconds) = (first, 0.0);
    while let Some(frame) = Frame::read(sound, at) {
        seconds += f64::from(frame.samples) / f64::from(frame.sample_rate);
        at += frame.length.max(24);
    }
    if at > sound.len() {
        media.warn_cut("its last frame");
    }
    let read = (at.min(sound.len()) - first) as f64;
    let bit_rate = if seconds > 0.0 { read * 8.0 / seconds } else { 0.0 };
    // Tags of other kinds may follow; much more than that is sound behind a damaged frame.
    let rest = sound.len().saturating_sub(at);
    let tags = [&b"APETAGEX"[..], b"LYRICSBEGIN", b"ID3", b"TAG"];
    let tagged = sound.get(at..).is_some_and(|rest| tags.iter().any(|tag| rest.starts_with(tag)));
    if rest > sound.len() / 10 && bit_rate > 0.0 && !tagged {
        media.warn_damaged(&format!("the sound breaks off at its byte {at} and goes on later"));
        return ((sound.len() - first) as f64 * 8.0 / bit_rate, bit_rate);
    }
    (seconds, bit_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted() {
        // 128 kbit/s, 44.1 kHz, stereo: 417 bytes.
        let mut frame = vec![0xff, 0xfb, 0x90, 0x00];
        frame.resize(417, 0);
        let sound = frame.repeat(100);
        assert!(is_stream(&sound));
        let mut media = Media::default();
        read(&sound, 0, &mut media);
        let get =
            |name: &str| media.properties.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!(get("MPEG:SampleRate"), Some("44100"));
        assert_eq!(get("Audio:Duration"), Some("2.612244898"));
        assert_eq!(media.extents, ["00:03"]);
        assert!(media.warnings.is_empty());
        assert!(!is_stream(&sound[..417]));
    }
}
