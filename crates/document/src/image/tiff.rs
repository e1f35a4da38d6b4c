//! TIFF, and EXIF, which is TIFF inside other formats: directories of numbered tags.

use std::collections::HashSet;

use super::{iptc, read_xmp};
use crate::media::{Media, Order, number, slice, unmarked_encoding, unmarked_text, utf16_text};

/// Tags in one directory beyond this are not read.
const MAX_TAGS: usize = 1000;

/// Directories beyond this are not followed; a scanned book has as many as it has pages.
const MAX_DIRECTORIES: usize = 2000;

/// Values in one tag beyond this are not shown: tables of offsets, curves, the picture itself.
const MAX_COUNT: usize = 64;

/// Names of tags, as the standards give them.
const TAGS: &[(u16, &str)] = &[
    (0x0100, "ImageWidth"),
    (0x0101, "ImageHeight"),
    (0x0102, "BitsPerSample"),
    (0x0103, "Compression"),
    (0x0106, "PhotometricInterpretation"),
    (0x010d, "DocumentName"),
    (0x010e, "ImageDescription"),
    (0x010f, "Make"),
    (0x0110, "Model"),
    (0x0112, "Orientation"),
    (0x0115, "SamplesPerPixel"),
    (0x0116, "RowsPerStrip"),
    (0x011a, "XResolution"),
    (0x011b, "YResolution"),
    (0x011c, "PlanarConfiguration"),
    (0x011d, "PageName"),
    (0x0128, "ResolutionUnit"),
    (0x0129, "PageNumber"),
    (0x0131, "Software"),
    (0x0132, "ModifyDate"),
    (0x013b, "Artist"),
    (0x013c, "HostComputer"),
    (0x013d, "Predictor"),
    (0x013e, "WhitePoint"),
    (0x013f, "PrimaryChromaticities"),
    (0x0142, "TileWidth"),
    (0x0143, "TileLength"),
    (0x0152, "ExtraSamples"),
    (0x0153, "SampleFormat"),
    (0x0211, "YCbCrCoefficients"),
    (0x0212, "YCbCrSubSampling"),
    (0x0213, "YCbCrPositioning"),
    (0x0214, "ReferenceBlackWhite"),
    (0x4746, "Rating"),
    (0x4749, "RatingPercent"),
    (0x8298, "Copyright"),
    (0x829a, "ExposureTime"),
    (0x829d, "FNumber"),
    (0x8822, "ExposureProgram"),
    (0x8824, "SpectralSensitivity"),
    (0x8827, "ISO"),
    (0x8830, "SensitivityType"),
    (0x8831, "StandardOutputSensitivity"),
    (0x8832, "RecommendedExposureIndex"),
    (0x9000, "ExifVersion"),
    (0x9003, "DateTimeOriginal"),
    (0x9004, "CreateDate"),
    (0x9010, "OffsetTime"),
    (0x9011, "OffsetTimeOriginal"),
    (0x9012, "OffsetTimeDigitized"),
    (0x9102, "CompressedBitsPerPixel"),
    (0x9201, "ShutterSpeedValue"),
    (0x9202, "ApertureValue"),
    (0x9203, "BrightnessValue"),
    (0x9204, "ExposureCompensation"),
    (0x9205, "MaxApertureValue"),
    (0x9206, "SubjectDistance"),
    (0x9207, "MeteringMode"),
    (0x9208, "LightSource"),
    (0x9209, "Flash"),
    (0x920a, "FocalLength"),
    (0x9286, "UserComment"),
    (0x9290, "SubSecTime"),
    (0x9291, "SubSecTimeOriginal"),
    (0x9292, "SubSecTimeDigitized"),
    (0x9c9b, "XPTitle"),
    (0x9c9c, "XPComment"),
    (0x9c9d, "XPAuthor"),
    (0x9c9e, "XPKeywords"),
    (0x9c9f, "XPSubject"),
    (0xa000, "FlashpixVersion"),
    (0xa001, "ColorSpace"),
    (0xa002, "ExifImageWidth"),
    (0xa003, "ExifImageHeight"),
    (0xa004, "RelatedSoundFile"),
    (0xa20e, "FocalPlaneXResolution"),
    (0xa20f, "FocalPlaneYResolution"),
    (0xa210, "FocalPlaneResolutionUnit"),
    (0xa215, "ExposureIndex"),
    (0xa217, "SensingMethod"),
    (0xa300, "FileSource"),
    (0xa301, "SceneType"),
    (0xa401, "CustomRendered"),
    (0xa402, "ExposureMode"),
    (0xa403, "WhiteBalance"),
    (0xa404, "DigitalZoomRatio"),
    (0xa405, "FocalLengthIn35mmFormat"),
    (0xa406, "SceneCaptureType"),
    (0xa407, "GainControl"),
    (0xa408, "Contrast"),
    (0xa409, "Saturation"),
    (0xa40a, "Sharpness"),
    (0xa40c, "SubjectDistanceRange"),
    (0xa420, "ImageUniqueID"),
    (0xa430, "OwnerName"),
    (0xa431, "SerialNumber"),
    (0xa432, "LensInfo"),
    (0xa433, "LensMake"),
    (0xa434, "LensModel"),
    (0xa435, "LensSerialNumber"),
];

/// Names of the tags of a position.
const GPS_TAGS: &[(u16, &str)] = &[
    (0x00, "GPSVersionID"),
    (0x01, "GPSLatitudeRef"),
    (0x02, "GPSLatitude"),
    (0x03, "GPSLongitudeRef"),
    (0x04, "GPSLongitude"),
    (0x05, "GPSAltitudeRef"),
    (0x06, "GPSAltitude"),
    (0x07, "GPSTimeStamp"),
    (0x08, "GPSSatellites"),
    (0x0a, "GPSMeasureMode"),
    (0x0b, "GPSDOP"),
    (0x0c, "GPSSpeedRef"),
    (0x0d, "GPSSpeed"),
    (0x10, "GPSImgDirectionRef"),
    (0x11, "GPSImgDirection"),
    (0x12, "GPSMapDatum"),
    (0x1b, "GPSProcessingMethod"),
    (0x1d, "GPSDateStamp"),
];

/// Read a TIFF file.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let Some((shape, first)) = header(bytes) else {
        return media.warn_cut("the header");
    };
    let mut directories = Directories { bytes, shape, seen: HashSet::new() };
    let (width, height) = directories.read(first, TAGS, "EXIF", media);
    match (width, height) {
        (Some(width), Some(height)) => media.pixels(width, height),
        _ => media.warn_damaged("its first directory does not say how large the picture is"),
    }
    let pages = directories.count_from(first);
    if pages > 1 {
        media.push("TIFF:PageCount", pages);
        media.extents.push(format!("{pages} pages"));
    }
}

/// Read the EXIF block of another format.
pub(super) fn read_exif(bytes: &[u8], media: &mut Media) {
    match header(bytes) {
        Some((shape, first)) => {
            media.push("EXIF:ByteOrder", if shape.order == Order::Big { "MM" } else { "II" });
            Directories { bytes, shape, seen: HashSet::new() }.read(first, TAGS, "EXIF", media);
        }
        None => media.warn_damaged("its EXIF block does not begin as one must"),
    }
}

fn header(bytes: &[u8]) -> Option<(Shape, usize)> {
    let (order, large) = match bytes.get(..4)? {
        [b'I', b'I', 42, 0] => (Order::Little, false),
        [b'M', b'M', 0, 42] => (Order::Big, false),
        [b'I', b'I', 43, 0] => (Order::Little, true),
        [b'M', b'M', 0, 43] => (Order::Big, true),
        _ => return None,
    };
    let shape = Shape { order, large };
    Some((shape, shape.offset(bytes, if large { 8 } else { 4 })?))
}

/// How numbers stand in a file: their order, and whether places are of four bytes or, in files beyond four gigabytes, of eight.
#[derive(Debug, Clone, Copy)]
struct Shape {
    order: Order,
    large: bool,
}

impl Shape {
    fn offset(self, bytes: &[u8], at: usize) -> Option<usize> {
        match self.large {
            true => self.order.u64(bytes, at).and_then(|offset| usize::try_from(offset).ok()),
            false => self.order.u32(bytes, at).map(|offset| offset as usize),
        }
    }

    /// How many tags the directory at `at` has, and where the first stands.
    fn tags(self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        match self.large {
            true => Some((self.offset(bytes, at)?, at.checked_add(8)?)),
            false => Some((usize::from(self.order.u16(bytes, at)?), at + 2)),
        }
    }

    /// How long a tag is.
    fn tag(self) -> usize {
        if self.large { 20 } else { 12 }
    }
}

struct Directories<'a> {
    bytes: &'a [u8],
    shape: Shape,
    /// Where directories were read: one that leads back to itself is read once.
    seen: HashSet<usize>,
}

impl<'a> Directories<'a> {
    /// Read one directory and those it points to; the width and height it gives, if it does.
    fn read(&mut self, at: usize, names: &[(u16, &str)], group: &str, media: &mut Media) -> (Option<u64>, Option<u64>) {
        let (mut width, mut height) = (None, None);
        if !self.seen.insert(at) || self.seen.len() > 16 {
            return (width, height);
        }
        let bytes = self.bytes;
        let Some((count, start)) = self.shape.tags(bytes, at) else {
            media.warn_damaged(&format!("its {group} directory at byte {at} lies outside of it"));
            return (width, height);
        };
        let mut lost = 0;
        for index in 0..count.min(MAX_TAGS) {
            let Some(entry) = slice(bytes, start + self.shape.tag() * index, self.shape.tag()) else {
                media.warn_cut(&format!("its {group} directory"));
                break;
            };
            let Some(field) = self.field(entry) else {
                lost += 1;
                continue;
            };
            let number = || field.number(0).map(|value| value as u64);
            match field.tag {
                0x8769 if group == "EXIF" => {
                    self.read(number().unwrap_or(0) as usize, TAGS, "EXIF", media);
                }
                0x8825 => {
                    self.read(number().unwrap_or(0) as usize, GPS_TAGS, "GPS", media);
                }
                0x02bc if names == TAGS => read_xmp(field.data, media),
                0x83bb if names == TAGS => iptc::read(field.data, media),
                0x8649 if names == TAGS => iptc::read_resources(field.data, media),
                tag => {
                    if names == TAGS {
                        match tag {
                            0x0100 => width = number(),
                            0x0101 => height = number(),
                            _ => {}
                        }
                    }
                    if let Some((_, name)) = names.iter().find(|(known, _)| *known == tag) {
                        media.push(format!("{group}:{name}"), field.text(name));
                    }
                }
            }
        }
        if lost > 0 {
            media.warn_damaged(&format!("{lost} of {count} tags in its {group} directory point outside of it"));
        }
        (width, height)
    }

    /// How many pictures follow each other.
    fn count_from(&self, first: usize) -> usize {
        let mut seen = HashSet::new();
        let mut at = first;
        while at != 0 && seen.len() < MAX_DIRECTORIES && seen.insert(at) {
            let Some((count, start)) = self.shape.tags(self.bytes, at) else { break };
            let next = count.checked_mul(self.shape.tag()).and_then(|length| start.checked_add(length));
            at = next.and_then(|next| self.shape.offset(self.bytes, next)).unwrap_or(0);
        }
        seen.len()
    }

    fn field(&self, entry: &'a [u8]) -> Option<Field<'a>> {
        let Shape { order, large } = self.shape;
        let kind = order.u16(entry, 2)?;
        let size = match kind {
            1 | 2 | 6 | 7 | 129 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16 | 17 | 18 => 8,
            _ => return None,
        };
        let count = self.shape.offset(entry, 4)?;
        let length = count.checked_mul(size)?;
        // What is short enough stands in place of its place.
        let (value, room) = if large { (12, 8) } else { (8, 4) };
        let data = if length <= room {
            slice(entry, value, length)?
        } else {
            slice(self.bytes, self.shape.offset(entry, value)?, length)?
        };
        Some(Field { tag: order.u16(entry, 0)?, kind, count, data, order })
    }
}

struct Field<'a> {
    tag: u16,
    kind: u16,
    count: usize,
    data: &'a [u8],
    order: Order,
}

impl Field<'_> {
    fn number(&self, index: usize) -> Option<f64> {
        let (data, order) = (self.data, self.order);
        let signed = |at: usize| order.u32(data, at).map(|value| f64::from(value as i32));
        match self.kind {
            1 | 7 => data.get(index).map(|value| f64::from(*value)),
            6 => data.get(index).map(|value| f64::from(*value as i8)),
            3 => order.u16(data, 2 * index).map(f64::from),
            8 => order.u16(data, 2 * index).map(|value| f64::from(value as i16)),
            4 | 13 => order.u32(data, 4 * index).map(f64::from),
            9 => signed(4 * index),
            5 => {
                let (up, down) = (order.u32(data, 8 * index)?, order.u32(data, 8 * index + 4)?);
                (down != 0).then(|| f64::from(up) / f64::from(down))
            }
            10 => {
                let (up, down) = (signed(8 * index)?, signed(8 * index + 4)?);
                (down != 0.0).then(|| up / down)
            }
            11 => order.u32(data, 4 * index).map(|value| f64::from(f32::from_bits(value))),
            12 => order.u64(data, 8 * index).map(f64::from_bits),
            16 | 18 => order.u64(data, 8 * index).map(|value| value as f64),
            17 => order.u64(data, 8 * index).map(|value| value as i64 as f64),
            _ => None,
        }
    }

    fn numbers(&self, between: &str) -> String {
        if self.count > MAX_COUNT {
            return String::new();
        }
        let values: Vec<String> = (0..self.count).filter_map(|index| self.number(index)).map(number).collect();
        values.join(between)
    }

    fn text(&self, name: &str) -> String {
        match name {
            "ExifVersion" | "FlashpixVersion" => unmarked_text(self.data),
            "UserComment" | "GPSProcessingMethod" => comment(self.data, self.order),
            _ if name.starts_with("XP") => utf16_text(self.data, Order::Little),
            "GPSLatitude" | "GPSLongitude" => {
                let part = |index: usize| self.number(index).unwrap_or(0.0);
                self.number(0).map(|degrees| number(degrees + part(1) / 60.0 + part(2) / 3600.0)).unwrap_or_default()
            }
            // Kept as powers of two, meant as seconds and as the aperture's number.
            "ShutterSpeedValue" => self.number(0).map(|value| number((-value).exp2())).unwrap_or_default(),
            "ApertureValue" | "MaxApertureValue" => {
                self.number(0).map(|value| number((value / 2.0).exp2())).unwrap_or_default()
            }
            "GPSTimeStamp" => {
                let part = |index: usize| self.number(index).unwrap_or(0.0);
                let seconds = number(part(2));
                let seconds = if part(2) < 10.0 { format!("0{seconds}") } else { seconds };
                format!("{:02}:{:02}:{seconds}", part(0), part(1))
            }
            _ => match self.kind {
                2 | 129 => unmarked_text(self.data),
                _ => self.numbers(" "),
            },
        }
    }
}

/// A comment that begins with the name of its encoding in eight bytes.
fn comment(data: &[u8], order: Order) -> String {
    match data.get(..8) {
        Some(b"UNICODE\0") => {
            let text = &data[8..];
            match text.get(..2) {
                Some([0xfe, 0xff]) => utf16_text(&text[2..], Order::Big),
                Some([0xff, 0xfe]) => utf16_text(&text[2..], Order::Little),
                _ => utf16_text(text, order),
            }
        }
        Some(b"JIS\0\0\0\0\0") => encoding_rs::ISO_2022_JP.decode_without_bom_handling(&data[8..]).0.into_owned(),
        Some(b"ASCII\0\0\0" | b"\0\0\0\0\0\0\0\0") => unmarked_text(&data[8..]),
        _ => unmarked_encoding(data).decode_without_bom_handling(&data[..data.len().min(4000)]).0.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TIFF of one directory with these tags: number, kind, count, value or offset.
    fn file(tags: &[(u16, u16, u32, u32)], rest: &[u8]) -> Vec<u8> {
        let mut bytes = b"MM\0*\0\0\0\x08".to_vec();
        bytes.extend((tags.len() as u16).to_be_bytes());
        for (tag, kind, count, value) in tags {
            bytes.extend(tag.to_be_bytes());
            bytes.extend(kind.to_be_bytes());
            bytes.extend(count.to_be_bytes());
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn tags_are_read() {
        let (gbk, ..) = encoding_rs::GBK.encode("王小明\0");
        let rest = [&gbk[..], b"\0", &1_u32.to_be_bytes(), &60_u32.to_be_bytes()].concat();
        let at = 8 + 2 + 4 * 12 + 4;
        let bytes = file(&[(0x100, 4, 1, 30), (0x101, 4, 1, 20), (0x13b, 2, 7, at), (0x829a, 5, 1, at + 8)], &rest);
        let mut media = Media::default();
        read(&bytes, &mut media);
        let get =
            |name: &str| media.properties.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!(get("EXIF:Artist"), Some("王小明"));
        assert_eq!(get("EXIF:ExposureTime"), Some("0.01666666667"));
        assert_eq!(media.extents, ["30 × 20 pixels"]);
        assert!(media.warnings.is_empty(), "{:?}", media.warnings);
    }

    #[test]
    fn directories_that_point_astray_end() {
        let mut media = Media::default();
        read(&file(&[(0x8769, 4, 1, 8), (0x8825, 4, 1, 8), (0x10e, 2, u32::MAX, 9)], b""), &mut media);
        assert!(media.warnings.iter().any(|warning| warning.code == "damaged"));
    }
}
