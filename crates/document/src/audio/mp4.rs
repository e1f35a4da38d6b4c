//! MP4, M4A and QuickTime: boxes in boxes, with the times in one, the tracks in others and the tags in another yet.

use crate::media::{Media, Order, number, shown, slice, unmarked_text};

/// Boxes beyond this are not looked at.
const MAX_BOXES: usize = 20_000;

/// Boxes nest about six deep.
const MAX_DEPTH: usize = 10;

/// Seconds from the format's epoch (1904) to that of Unix.
const EPOCH: i64 = 2_082_844_800;

struct Walk<'m> {
    media: &'m mut Media,
    boxes: usize,
    /// What kind of track we are in.
    kind: [u8; 4],
    moved: bool,
    data: usize,
    seconds: f64,
}

/// Read an MP4 file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let mut walk = Walk { media, boxes: 0, kind: [0; 4], moved: false, data: 0, seconds: 0.0 };
    walk.boxes(bytes, 0, "");
    let Walk { moved, data, seconds, .. } = walk;
    if !moved {
        return media.warn_cut("its boxes");
    }
    if seconds > 0.0 {
        if data > 0 {
            media.push("Audio:BitRate", number((data as f64 * 8.0 / seconds).round()));
        }
        media.duration(seconds);
    }
}

impl Walk<'_> {
    fn boxes(&mut self, bytes: &[u8], depth: usize, parent: &str) {
        let order = Order::Big;
        let mut at = 0;
        while at + 8 <= bytes.len() && depth < MAX_DEPTH {
            self.boxes += 1;
            if self.boxes > MAX_BOXES {
                return;
            }
            let (Some(length), Some(kind)) = (order.u32(bytes, at), slice(bytes, at + 4, 4)) else { return };
            let (head, length) = match length {
                0 => (8, bytes.len() - at),
                1 => {
                    (16, order.u64(bytes, at + 8).and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX))
                }
                _ => (8, length as usize),
            };
            // Text boxes of QuickTime end with four zeros that are no box.
            if length < head {
                if parent != "udta" {
                    self.media.warn_damaged("a box in it is shorter than its own head");
                }
                return;
            }
            let rest = bytes.len() - at;
            if length > rest && depth == 0 {
                self.media.warn_cut(&format!("its {} box", shown(kind)));
            } else if length > rest {
                return self.media.warn_damaged(&format!("its {} box lies outside of it", shown(kind)));
            }
            let end = at.saturating_add(length).min(bytes.len());
            let body = bytes.get(at + head..end).unwrap_or_default();
            self.one(kind, body, depth, parent);
            at = end;
        }
    }

    fn one(&mut self, kind: &[u8], body: &[u8], depth: usize, parent: &str) {
        let order = Order::Big;
        match kind {
            b"ftyp" => self.media.push("MP4:MajorBrand", unmarked_text(body.get(..4).unwrap_or_default())),
            b"mdat" => self.data += body.len(),
            b"moov" => {
                self.moved = true;
                self.boxes(body, depth + 1, "moov");
            }
            b"trak" | b"mdia" | b"minf" | b"stbl" => self.boxes(body, depth + 1, "trak"),
            b"udta" => self.boxes(body, depth + 1, "udta"),
            b"meta" => {
                // Four bytes of version in MP4, none in QuickTime.
                let body = if slice(body, 4, 4) == Some(b"hdlr") { body } else { body.get(4..).unwrap_or_default() };
                self.boxes(body, depth + 1, "meta");
            }
            b"ilst" if parent == "meta" => self.list(body),
            b"mvhd" => {
                let long = body.first() == Some(&1);
                let time = |at: usize, far: usize| {
                    if long { order.u64(body, far) } else { order.u32(body, at).map(u64::from) }
                };
                let scale = order.u32(body, if long { 20 } else { 12 }).unwrap_or(0);
                let length = if long { order.u64(body, 24) } else { order.u32(body, 16).map(u64::from) };
                for (name, moment) in [("CreateDate", time(4, 4)), ("ModifyDate", time(8, 12))] {
                    if let Some(moment) = moment.filter(|moment| *moment > EPOCH as u64 && *moment < 1 << 33) {
                        self.media.push(format!("MP4:{name}"), date(moment as i64 - EPOCH));
                    }
                }
                match length {
                    Some(length) if scale > 0 => self.seconds = length as f64 / f64::from(scale),
                    _ => self.media.warn_damaged("nothing in it says how long it is"),
                }
            }
            b"hdlr" if parent == "trak" => {
                self.kind = slice(body, 8, 4).and_then(|kind| kind.try_into().ok()).unwrap_or_default();
            }
            b"stsd" => self.sample(body.get(8..).unwrap_or_default()),
            [0xa9, ..] if parent == "udta" => {
                // QuickTime's own texts: a length, a language, the text.
                if let Some(length) = order.u16(body, 0)
                    && let Some(text) = slice(body, 4, usize::from(length))
                {
                    self.media.push(tag_name(kind), unmarked_text(text));
                }
            }
            _ => {}
        }
    }

    /// The first sample description: its codec and form.
    fn sample(&mut self, body: &[u8]) {
        let order = Order::Big;
        let Some(codec) = slice(body, 4, 4) else { return self.media.warn_cut("a sample description") };
        match &self.kind {
            b"soun" => {
                self.media.push("MP4:AudioFormat", unmarked_text(codec));
                self.media.push("MP4:AudioChannels", order.u16(body, 24).unwrap_or(0));
                self.media.push("MP4:AudioBitsPerSample", order.u16(body, 26).unwrap_or(0));
                self.media.push("MP4:AudioSampleRate", order.u32(body, 32).unwrap_or(0) >> 16);
            }
            b"vide" => {
                self.media.push("MP4:CompressorID", unmarked_text(codec));
                let (Some(width), Some(height)) = (order.u16(body, 32), order.u16(body, 34)) else { return };
                self.media.push("MP4:ImageWidth", width);
                self.media.push("MP4:ImageHeight", height);
                self.media.pixels(u64::from(width), u64::from(height));
            }
            _ => {}
        }
    }

    /// iTunes' tags: a box for each, with its value in a box inside.
    fn list(&mut self, list: &[u8]) {
        let order = Order::Big;
        let mut at = 0;
        for _ in 0..500 {
            let (Some(length), Some(kind)) = (order.u32(list, at), slice(list, at + 4, 4)) else { return };
            let Some(tag) = slice(list, at, length as usize).filter(|tag| tag.len() >= 8) else {
                return self.media.warn_damaged("a tag in it has an impossible length");
            };
            at += tag.len();
            let mut inner = 8;
            let mut name = tag_name(kind);
            while let (Some(length), Some(kind)) = (order.u32(tag, inner), slice(tag, inner + 4, 4)) {
                let Some(part) = slice(tag, inner, length as usize).filter(|part| part.len() >= 8) else { break };
                inner += part.len();
                match kind {
                    // Tags that programs made up have their name inside.
                    b"name" => name = format!("MP4:{}", unmarked_text(part.get(12..).unwrap_or_default())),
                    b"data" => self.value(&name, order.u32(part, 8).unwrap_or(0), part.get(16..).unwrap_or_default()),
                    _ => {}
                }
            }
        }
    }

    fn value(&mut self, name: &str, form: u32, value: &[u8]) {
        let order = Order::Big;
        match form {
            1 => self.media.push(name, String::from_utf8_lossy(&value[..value.len().min(16 << 10)])),
            2 => self.media.push(name, crate::media::utf16_text(value, order)),
            0 if name == "MP4:trkn" || name == "MP4:disk" => {
                if let (Some(number), of) = (order.u16(value, 2), order.u16(value, 4).unwrap_or(0)) {
                    self.media.push(name, if of > 0 { format!("{number}/{of}") } else { number.to_string() });
                }
            }
            21 | 22 => {
                let number = value.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
                self.media.push(name, number);
            }
            // Pictures, and what programs keep for themselves.
            _ => {}
        }
    }
}

/// The name of a tag: its four characters, of which the first is often a copyright sign.
fn tag_name(kind: &[u8]) -> String {
    let name: String = kind.iter().map(|byte| char::from(*byte)).filter(|c| !c.is_control()).collect();
    format!("MP4:{name}")
}

/// Seconds since 1970 as a date in the form EXIF has; empty for a time no calendar has.
fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y:%m:%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &[u8], body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32 + 8).to_be_bytes()[..], kind, body].concat()
    }

    #[test]
    fn tags_and_times_are_read() {
        let mut head = vec![0; 100];
        head[4..8].copy_from_slice(&(EPOCH as u32 + 86_400).to_be_bytes());
        head[12..16].copy_from_slice(&1000_u32.to_be_bytes());
        head[16..20].copy_from_slice(&205_000_u32.to_be_bytes());
        let data = boxed(b"data", &[&[0, 0, 0, 1, 0, 0, 0, 0][..], "茉莉花".as_bytes()].concat());
        let list = boxed(b"ilst", &boxed(b"\xa9nam", &data));
        let meta = boxed(b"meta", &[&[0; 4][..], &list].concat());
        let file =
            [boxed(b"ftyp", b"M4A \0\0\0\0"), boxed(b"moov", &[boxed(b"mvhd", &head), boxed(b"udta", &meta)].concat())]
                .concat();
        let mut media = Media::default();
        read(&file, &mut media);
        let get =
            |name: &str| media.properties.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!(get("MP4:©nam"), Some("茉莉花"));
        assert_eq!(get("MP4:CreateDate"), Some("1970:01:02 00:00:00"));
        assert_eq!(media.extents, ["03:25"]);
        assert!(media.warnings.is_empty(), "{:?}", media.warnings);
    }

    #[test]
    fn days_are_counted_right() {
        assert_eq!(date(1_709_164_800), "2024:02:29 00:00:00");
        assert_eq!(date(0), "1970:01:01 00:00:00");
    }
}
