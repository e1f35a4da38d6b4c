//! Where bytes come from, and the windows of them that are looked at. A file costs what its windows cost, however long it is.

use std::borrow::Cow;
use std::io;

use memchr::memmem;

use super::model::Fragment;

/// Bytes that can be read anywhere, without all of them being in memory.
pub trait Source {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills the buffer from this place on, as far as there are bytes; says how many it filled.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// All of them, where they are in memory already.
    fn whole(&self) -> Option<&[u8]> {
        None
    }
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let bytes = &self[from..];
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn whole(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// How much is read at once where a pattern reaches beyond the windows.
const CHUNK: u64 = 64 << 10;

/// How many bytes are compared for one file before the search is given up. Honest files need a thousandth of it.
const WORK: u64 = 256 << 20;

/// A source seen through a window at its beginning and one at its end.
pub(crate) struct View<'a> {
    source: &'a dyn Source,
    size: u64,
    head: Cow<'a, [u8]>,
    tail: Vec<u8>,
    tail_start: u64,
    extra: Vec<u8>,
    extra_start: u64,
    /// How far from either end a search without bounds goes.
    pub(crate) scan: u64,
    work: u64,
    /// The first trouble with reading.
    pub(crate) trouble: Option<io::Error>,
}

impl<'a> View<'a> {
    /// Windows of `head` bytes at the beginning and `tail` at the end.
    pub(crate) fn new(source: &'a dyn Source, head: u64, tail: u64, scan: u64) -> Self {
        let size = source.size();
        let mut view = View {
            source,
            size,
            head: Cow::Borrowed(&[]),
            tail: Vec::new(),
            tail_start: size,
            extra: Vec::new(),
            extra_start: 0,
            scan,
            work: WORK,
            trouble: None,
        };
        if let Some(bytes) = source.whole() {
            view.head = Cow::Borrowed(bytes);
            return view;
        }
        // A file little longer than its head is read in one go.
        let length = if size <= head.saturating_add(tail) { size } else { head };
        let bytes = view.read(0, length);
        if (bytes.len() as u64) < length {
            // The file is shorter than it said, or cannot be read further.
            view.size = bytes.len() as u64;
            view.tail_start = view.size;
        }
        view.head = Cow::Owned(bytes);
        if view.size > view.head.len() as u64 {
            view.tail_start = (size - tail.min(size)).max(length);
            view.tail = view.read(view.tail_start, size - view.tail_start);
        }
        view
    }

    fn read(&mut self, from: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.source.read_at(from + filled as u64, &mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count.min(bytes.len() - filled),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.trouble.get_or_insert(error);
                    break;
                }
            }
        }
        bytes.truncate(filled);
        bytes
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The source itself, or what is in memory of it where that is all.
    pub(crate) fn as_source(&self) -> &dyn Source {
        if self.size == self.head.len() as u64 { self } else { self.source }
    }

    /// The window at the beginning.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The window at the end, where it is another than that at the beginning.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Whether so much was compared that the search was given up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.work == 0
    }

    /// Some bytes from a place on: as many as are at hand, at least `least` where the file has them, at most `most`.
    pub(crate) fn span(&mut self, from: u64, least: u64, most: u64) -> &[u8] {
        if from >= self.size {
            return &[];
        }
        let least = least.min(self.size - from);
        let cut = |bytes: &'_ [u8], start: u64| {
            let begin = (from - start) as usize;
            let end = bytes.len().min(begin.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)));
            (begin, end)
        };
        if from + least <= self.head.len() as u64 {
            let (begin, end) = cut(&self.head, 0);
            return &self.head[begin..end];
        }
        if from >= self.tail_start {
            if from - self.tail_start >= self.tail.len() as u64 {
                return &[];
            }
            let (begin, end) = cut(&self.tail, self.tail_start);
            return &self.tail[begin..end];
        }
        let held = self.extra_start..self.extra_start + self.extra.len() as u64;
        if !(held.contains(&from) && from + least <= held.end) {
            let length = CHUNK.max(least).min(self.size - from);
            self.extra = self.read(from, length);
            self.extra_start = from;
        }
        let (begin, end) = cut(&self.extra, self.extra_start);
        &self.extra[begin.min(end)..end]
    }

    /// Whether the fragment stands at a place.
    pub(crate) fn fits(&mut self, fragment: &Fragment, at: u64) -> bool {
        self.work = self.work.saturating_sub(fragment.width as u64);
        let width = fragment.width as u64;
        let bytes = self.span(at, width, width);
        bytes.len() >= fragment.width && fragment.fits(bytes)
    }

    /// The first place, from `from` to `to` inclusive, where the fragment stands.
    pub(crate) fn find(&mut self, fragment: &Fragment, from: u64, to: u64) -> Option<u64> {
        let width = fragment.width as u64;
        let to = to.min(self.size.checked_sub(width)?);
        let (offset, literal) = (fragment.literal.0, fragment.literal.1.as_slice());
        let mut at = from;
        while at <= to {
            if self.work == 0 {
                return None;
            }
            let bytes = self.span(at, width, to - at + width);
            if bytes.len() < fragment.width {
                return None;
            }
            let last = bytes.len() - fragment.width;
            let mut found = None;
            if literal.is_empty() || last < 8 {
                found = (0..=last).find(|place| fragment.fits(&bytes[*place..]));
            } else {
                let searched = &bytes[offset..=last + offset + literal.len() - 1];
                let finder = memmem::Finder::new(literal);
                if fragment.is_literal() {
                    found = finder.find(searched);
                } else {
                    // Not by the finder's own iterator: two places may overlap.
                    let mut start = 0;
                    while let Some(place) = finder.find(&searched[start..]).map(|place| start + place) {
                        if fragment.fits(&bytes[place..]) {
                            found = Some(place);
                            break;
                        }
                        start = place + 1;
                    }
                }
            }
            // Beside the bytes themselves each search costs its beginning.
            let passed = found.map_or(last as u64 + 1, |place| place as u64 + 1);
            self.work = self.work.saturating_sub(passed + 32);
            if let Some(place) = found {
                return Some(at + place as u64);
            }
            at += passed;
        }
        None
    }
}

/// Read through its own window; asked only where that holds everything.
impl Source for View<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.head).read_at(offset, buffer)
    }
}
