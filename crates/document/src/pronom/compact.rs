//! Signatures in few bytes: numbers of varying length, texts with their length before them, the whole deflated. It is loaded in a few
//! milliseconds, where the XML takes a hundred. The form is of this version of the program alone; what people exchange is the XML.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::model::{
    Container, ContainerSignature, Element, Entry, Fragment, Inner, Origin, Part, Sequence, Signature, Signatures,
};

/// Goes before the rest, and changes with the form.
const MARK: &[u8] = b"zhulu signatures 1\n";

/// The most bytes that are unpacked; PRONOM needs a hundredth of it.
const MOST: u64 = 64 << 20;

/// The signatures, packed.
pub(crate) fn write(signatures: &Signatures) -> Vec<u8> {
    let mut bytes = Vec::new();
    signatures.put(&mut bytes);
    let mut packed = DeflateEncoder::new(MARK.to_vec(), Compression::best());
    // Writing to memory does not fail.
    let _ = packed.write_all(&bytes);
    packed.finish().unwrap_or_default()
}

/// The signatures of some packed bytes; none if that is not what they are.
pub(crate) fn read(packed: &[u8]) -> Option<Signatures> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed.strip_prefix(MARK)?).take(MOST).read_to_end(&mut bytes).ok()?;
    let mut input = bytes.as_slice();
    let signatures = Signatures::get(&mut input)?;
    let known = |format: &u32| (*format as usize) < signatures.formats.len();
    let sound = signatures.signatures.iter().all(|signature| signature.formats.iter().all(known))
        && signatures.containers.iter().all(|signature| signature.formats.iter().all(known))
        && signatures.formats.iter().all(|format| format.over.iter().all(known))
        && signatures.triggers.iter().all(|(_, format)| known(format));
    (input.is_empty() && sound).then_some(signatures)
}

trait Packed: Sized {
    fn put(&self, output: &mut Vec<u8>);
    fn get(input: &mut &[u8]) -> Option<Self>;
}

impl Packed for u64 {
    fn put(&self, output: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            output.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        output.push(rest as u8);
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::get(input)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl Packed for u32 {
    fn put(&self, output: &mut Vec<u8>) {
        u64::from(*self).put(output);
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        u64::get(input)?.try_into().ok()
    }
}

impl Packed for u8 {
    fn put(&self, output: &mut Vec<u8>) {
        output.push(*self);
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let (first, rest) = input.split_first()?;
        *input = rest;
        Some(*first)
    }
}

impl Packed for bool {
    fn put(&self, output: &mut Vec<u8>) {
        output.push(u8::from(*self));
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        u8::get(input).map(|byte| byte != 0)
    }
}

impl Packed for String {
    fn put(&self, output: &mut Vec<u8>) {
        (self.len() as u64).put(output);
        output.extend_from_slice(self.as_bytes());
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::get(input)?).ok()?;
        let (text, rest) = input.split_at_checked(length)?;
        *input = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn put(&self, output: &mut Vec<u8>) {
        (self.len() as u64).put(output);
        for one in self {
            one.put(output);
        }
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::get(input)?).ok()?;
        // Everything takes at least one byte, so a length beyond that is a lie.
        if length > input.len() {
            return None;
        }
        (0..length).map(|_| T::get(input)).collect()
    }
}

impl<T: Packed> Packed for Option<T> {
    fn put(&self, output: &mut Vec<u8>) {
        self.is_some().put(output);
        if let Some(one) = self {
            one.put(output);
        }
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        if bool::get(input)? { T::get(input).map(Some) } else { Some(None) }
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn put(&self, output: &mut Vec<u8>) {
        self.0.put(output);
        self.1.put(output);
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        Some((A::get(input)?, B::get(input)?))
    }
}

/// A structure is its fields, one after the other.
macro_rules! packed {
    ($name:ident { $($field:ident),+ }) => {
        impl Packed for $name {
            fn put(&self, output: &mut Vec<u8>) {
                $(self.$field.put(output);)+
            }

            fn get(input: &mut &[u8]) -> Option<Self> {
                Some($name { $($field: Packed::get(input)?),+ })
            }
        }
    };
}

packed!(Part { min, max, anchor, left, right });
packed!(Sequence { origin, parts });
packed!(Signature { formats, sequences });
packed!(Entry { puid, name, version, mime, extensions, over, signed });
packed!(Inner { path, signatures });
packed!(ContainerSignature { container, formats, files });
packed!(Signatures { version, created, container_version, formats, signatures, containers, triggers });

/// Fragments of exact bytes, which nearly all are, carry those alone.
impl Packed for Fragment {
    fn put(&self, output: &mut Vec<u8>) {
        self.min.put(output);
        self.max.put(output);
        self.is_literal().put(output);
        if self.is_literal() { self.literal.1.put(output) } else { self.elements.put(output) }
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        let (min, max) = (u32::get(input)?, u32::get(input)?);
        let fragment = if bool::get(input)? {
            Fragment::exact(min, max, Vec::get(input)?)
        } else {
            Fragment::new(min, max, Vec::get(input)?)
        };
        Some(fragment).filter(|fragment| fragment.width > 0)
    }
}

impl Packed for Element {
    fn put(&self, output: &mut Vec<u8>) {
        match self {
            Element::Byte(byte) => {
                0u8.put(output);
                byte.put(output);
            }
            Element::Set(set) => {
                1u8.put(output);
                set.iter().for_each(|word| word.put(output));
            }
            Element::Span { low, high, inside } => {
                2u8.put(output);
                low.put(output);
                high.put(output);
                inside.put(output);
            }
        }
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        Some(match u8::get(input)? {
            0 => Element::Byte(u8::get(input)?),
            1 => Element::Set(Box::new([u64::get(input)?, u64::get(input)?, u64::get(input)?, u64::get(input)?])),
            2 => {
                let (low, high): (Vec<u8>, Vec<u8>) = Packed::get(input)?;
                let inside = bool::get(input)?;
                return (low.len() == high.len() && !low.is_empty()).then_some(Element::Span { low, high, inside });
            }
            _ => return None,
        })
    }
}

impl Packed for Origin {
    fn put(&self, output: &mut Vec<u8>) {
        output.push(match self {
            Origin::Start => 0,
            Origin::End => 1,
            Origin::Anywhere => 2,
        });
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        [Origin::Start, Origin::End, Origin::Anywhere].get(usize::from(u8::get(input)?)).copied()
    }
}

impl Packed for Container {
    fn put(&self, output: &mut Vec<u8>) {
        output.push(u8::from(*self == Container::Zip));
    }

    fn get(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::get(input)? { Container::Zip } else { Container::Ole2 })
    }
}
