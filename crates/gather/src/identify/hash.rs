//! Checksums of files, read once from beginning to end.

use std::io;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use zhulu_document::pronom::Source;

/// A kind of checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// 128 bits; for comparing with old lists only.
    Md5,
    /// 160 bits; the same.
    Sha1,
    /// 256 bits.
    Sha256,
    /// 256 bits, several times faster.
    Blake3,
}

impl Hash {
    /// Its name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha256 => "sha256",
            Hash::Blake3 => "blake3",
        }
    }

    /// The checksum of some bytes, in hexadecimal digits.
    pub(super) fn of(self, source: &dyn Source) -> io::Result<String> {
        match self {
            Hash::Md5 => digest::<Md5>(source),
            Hash::Sha1 => digest::<Sha1>(source),
            Hash::Sha256 => digest::<Sha256>(source),
            Hash::Blake3 => {
                let mut hasher = blake3::Hasher::new();
                each(source, |bytes| {
                    hasher.update(bytes);
                })?;
                Ok(hasher.finalize().to_hex().to_string())
            }
        }
    }
}

fn digest<D: Digest>(source: &dyn Source) -> io::Result<String> {
    let mut hasher = D::new();
    each(source, |bytes| hasher.update(bytes))?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn each(source: &dyn Source, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; usize::try_from(source.size().clamp(1, 256 << 10)).unwrap_or(1)];
    let mut at = 0;
    loop {
        match source.read_at(at, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                take(&buffer[..count]);
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
