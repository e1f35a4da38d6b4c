//! Which of the two thousand signatures are worth trying on a file. Each has one trigger: a byte at a fixed place, or some exact bytes
//! anywhere in the windows, all of which one automaton looks for in one pass.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::model::{Fragment, Origin, Part, Signature};
use super::source::View;

/// The shortest run of exact bytes the automaton looks for; shorter ones are everywhere.
const SHORTEST: usize = 2;

/// The longest. A trigger need not be the whole: what it starts is tried in full, and a small automaton is built sooner.
const LONGEST: usize = 12;

/// The triggers of all signatures.
pub(crate) struct Index {
    /// By distance from the beginning, then by byte: what must stand there.
    starts: Vec<(u64, Vec<Fixed>)>,
    /// The same by distance of the byte from the end.
    ends: Vec<(u64, Vec<Fixed>)>,
    automaton: Option<AhoCorasick>,
    /// The signature of each of the automaton's patterns.
    patterns: Vec<u32>,
    /// Signatures with nothing to trigger them.
    always: Vec<u32>,
    /// How much of a file's beginning and end the triggers need.
    pub(crate) head: u64,
    pub(crate) tail: u64,
}

/// Exact bytes at a fixed place, and the signature they belong to.
struct Fixed {
    bytes: Vec<u8>,
    signature: u32,
}

/// What is known of a part's anchor.
struct Candidate<'a> {
    fragment: &'a Fragment,
    /// The one place of the exact bytes, counted from the origin, where it has one.
    fixed: Option<(Origin, u64)>,
}

impl Index {
    pub(crate) fn new(signatures: &[Signature]) -> Self {
        let mut index = Index {
            starts: Vec::new(),
            ends: Vec::new(),
            automaton: None,
            patterns: Vec::new(),
            always: Vec::new(),
            head: 0,
            tail: 0,
        };
        let mut literals: Vec<&[u8]> = Vec::new();
        for (signature, number) in signatures.iter().zip(0..) {
            index.widen(signature);
            let all =
                || {
                    signature.sequences.iter().flat_map(|sequence| {
                        sequence.parts.iter().enumerate().filter_map(move |(place, part)| {
                            candidate(sequence.origin, place, sequence.parts.len(), part)
                        })
                    })
                };
            let length = |candidate: &Candidate<'_>| candidate.fragment.literal.1.len();
            let fixed = all().filter(|candidate| candidate.fixed.is_some() && length(candidate) > 0).max_by_key(length);
            let longest = all().max_by_key(length).filter(|candidate| length(candidate) >= SHORTEST);
            match (fixed, longest) {
                (Some(Candidate { fragment, fixed: Some((origin, place)) }), _) => {
                    let fixed = Fixed { bytes: fragment.literal.1.clone(), signature: number };
                    let table = if origin == Origin::Start { &mut index.starts } else { &mut index.ends };
                    match table.iter_mut().find(|(other, _)| *other == place) {
                        Some((_, list)) => list.push(fixed),
                        None => table.push((place, vec![fixed])),
                    }
                }
                (_, Some(candidate)) => {
                    let literal = candidate.fragment.literal.1.as_slice();
                    literals.push(&literal[..literal.len().min(LONGEST)]);
                    index.patterns.push(number);
                }
                _ => index.always.push(number),
            }
        }
        for (_, list) in index.starts.iter_mut().chain(&mut index.ends) {
            list.sort_by_key(|fixed| fixed.bytes[0]);
        }
        // Without an automaton (it would be too large) every signature is tried.
        index.automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&literals)
            .ok();
        if index.automaton.is_none() {
            index.always.append(&mut index.patterns);
        }
        index
    }

    /// Makes the windows wide enough for the bounded parts of a signature.
    fn widen(&mut self, signature: &Signature) {
        for sequence in &signature.sequences {
            if let Some(part) = sequence.parts.first() {
                let Some(max) = part.max else { continue };
                let reach =
                    Part::reach(&part.left).1 + part.anchor.iter().map(|one| one.width as u64).max().unwrap_or(0);
                match sequence.origin {
                    Origin::Start => self.head = self.head.max(u64::from(max) + reach),
                    Origin::End => {
                        let right = Part::reach(&part.right).1;
                        self.tail = self.tail.max(u64::from(max) + reach + right);
                    }
                    Origin::Anywhere => {}
                }
            }
        }
        // Fragments may reach far; beyond this the file is read where they lead.
        self.head = self.head.min(160 << 10);
        self.tail = self.tail.min(160 << 10);
    }

    /// The signatures worth trying, each once, in the order of the signature file.
    pub(crate) fn worth_trying(&self, view: &View<'_>, found: &mut Vec<u32>) {
        found.clear();
        found.extend_from_slice(&self.always);
        let (head, tail) = (view.head(), view.tail());
        for (place, list) in &self.starts {
            let Some(bytes) = usize::try_from(*place).ok().and_then(|place| head.get(place..)) else { continue };
            hits(list, bytes, found);
        }
        let end = if tail.is_empty() { head } else { tail };
        for (place, list) in &self.ends {
            let from = usize::try_from(*place).ok().and_then(|place| end.len().checked_sub(place));
            let Some(bytes) = from.and_then(|from| end.get(from..)) else { continue };
            hits(list, bytes, found);
        }
        if let Some(automaton) = &self.automaton {
            let reach = |window: u64| usize::try_from(window.max(view.scan)).unwrap_or(usize::MAX);
            let (from_head, from_tail) = (reach(self.head), reach(self.tail));
            let looked = &head[..head.len().min(from_head.saturating_add(from_tail))];
            for window in
                [looked, if looked.len() < head.len() { &head[head.len().saturating_sub(from_tail)..] } else { tail }]
            {
                for hit in automaton.find_overlapping_iter(window) {
                    found.push(self.patterns[hit.pattern().as_usize()]);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
    }
}

fn hits(list: &[Fixed], bytes: &[u8], found: &mut Vec<u32>) {
    let Some(first) = bytes.first() else { return };
    let from = list.partition_point(|fixed| fixed.bytes[0] < *first);
    let same = list[from..].iter().take_while(|fixed| fixed.bytes[0] == *first);
    found.extend(same.filter(|fixed| bytes.starts_with(&fixed.bytes)).map(|fixed| fixed.signature));
}

fn candidate(origin: Origin, place: usize, count: usize, part: &Part) -> Option<Candidate<'_>> {
    let [fragment] = part.anchor.as_slice() else { return None };
    let (left, right) = (Part::reach(&part.left), Part::reach(&part.right));
    let inside = fragment.literal.0 as u64;
    let fixed = match (origin, part.max) {
        _ if place > 0 => None,
        (Origin::Start, Some(max)) if max == part.min && left.0 == left.1 => {
            Some((Origin::Start, u64::from(max) + left.0 + inside))
        }
        (Origin::End, Some(max)) if count == 1 && max == part.min && right.0 == right.1 => {
            Some((Origin::End, u64::from(max) + right.0 + fragment.width as u64 - inside))
        }
        _ => None,
    };
    Some(Candidate { fragment, fixed })
}
