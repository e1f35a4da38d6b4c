//! Whether the byte sequences of a signature lie in a file, and where: DROID's rules for offsets, fragments and gaps.

use super::model::{Fragment, Group, Origin, Part, Sequence};
use super::source::View;

/// Where a part of a sequence lies: its first byte and its length.
pub(crate) type Place = (u64, u64);

/// Which end of a part is bound to a range, and so which of its possible extents is wanted: the nearest to that end.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    Start,
    End,
}

/// The places of all sequences of a signature; none unless every one of them is there.
pub(crate) fn all(view: &mut View<'_>, sequences: &[Sequence]) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    for sequence in sequences {
        one(view, sequence, &mut places)?;
    }
    Some(places)
}

fn one(view: &mut View<'_>, sequence: &Sequence, places: &mut Vec<Place>) -> Option<()> {
    let size = view.size();
    match sequence.origin {
        Origin::Start => forwards(view, &sequence.parts, 0, view.scan.min(size), places),
        Origin::End => backwards(view, &sequence.parts, places),
        Origin::Anywhere => {
            let before = places.len();
            let scan = view.scan.min(size);
            if forwards(view, &sequence.parts, 0, scan, places).is_some() {
                return Some(());
            }
            places.truncate(before);
            // What may lie anywhere is looked for near both ends.
            if size > scan { forwards(view, &sequence.parts, size - scan, size, places) } else { None }
        }
    }
}

/// Part after part from the left; a part without a greatest distance begins before `until`.
fn forwards(view: &mut View<'_>, parts: &[Part], from: u64, until: u64, places: &mut Vec<Place>) -> Option<()> {
    let mut origin = from;
    for part in parts {
        let low = origin.saturating_add(u64::from(part.min));
        let high = match part.max {
            Some(max) => origin.saturating_add(u64::from(max)),
            None => until,
        };
        let (start, end) = locate(view, part, low, high, Bound::Start)?;
        places.push((start, end - start));
        origin = end;
    }
    Some(())
}

/// Part after part from the right; distances are counted leftwards.
fn backwards(view: &mut View<'_>, parts: &[Part], places: &mut Vec<Place>) -> Option<()> {
    let mut origin = view.size();
    let until = origin.saturating_sub(view.scan);
    for (index, part) in parts.iter().enumerate().rev() {
        // DROID writes the offsets of the sequence's only part; between parts there is a gap of any size.
        let nearest = index + 1 == parts.len();
        let distances = if nearest { &parts[0] } else { &parts[index + 1] };
        let high = origin.checked_sub(u64::from(distances.min))?;
        let low = match distances.max {
            Some(max) => origin.saturating_sub(u64::from(max)),
            None => until,
        };
        let (start, end) = locate(view, part, low, high, Bound::End)?;
        places.push((start, end - start));
        origin = start;
    }
    Some(())
}

/// Where a part lies whose bound end is from `low` to `high`.
fn locate(view: &mut View<'_>, part: &Part, low: u64, high: u64, bound: Bound) -> Option<(u64, u64)> {
    if low > high {
        return None;
    }
    let (left, right) = (Part::reach(&part.left), Part::reach(&part.right));
    for anchor in &part.anchor {
        let width = anchor.width as u64;
        let (from, to) = match bound {
            Bound::Start => (low.saturating_add(left.0), high.saturating_add(left.1)),
            Bound::End => {
                let Some(to) = high.checked_sub(right.0 + width) else { continue };
                (low.saturating_sub(right.1 + width), to)
            }
        };
        let mut from = from;
        // From the end the nearest place would be the last one; which one is found first does not matter to what fits.
        while let Some(at) = view.find(anchor, from, to) {
            from = at + 1;
            let mut starts = outwards(view, &part.left, at, Side::Left);
            let mut ends =
                if starts.is_empty() { Vec::new() } else { outwards(view, &part.right, at + width, Side::Right) };
            match bound {
                Bound::Start => starts.retain(|start| (low..=high).contains(start)),
                Bound::End => ends.retain(|end| (low..=high).contains(end)),
            }
            if let (Some(start), Some(end)) = (starts.iter().max(), ends.iter().min()) {
                return Some((*start, *end));
            }
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// All places where the groups of one side can end, going outwards from an edge of the anchor.
fn outwards(view: &mut View<'_>, groups: &[Group], edge: u64, side: Side) -> Vec<u64> {
    let mut edges = vec![edge];
    for group in groups {
        let mut further = Vec::new();
        for fragment in group {
            // From its beginning, where it is found, to its outer edge.
            let outer = if side == Side::Right { fragment.width as u64 } else { 0 };
            for (from, to) in ranges(&edges, fragment, side) {
                if from == to {
                    if view.fits(fragment, from) {
                        further.push(from + outer);
                    }
                    continue;
                }
                let mut from = from;
                while let Some(at) = view.find(fragment, from, to) {
                    further.push(at + outer);
                    from = at + 1;
                }
            }
        }
        further.sort_unstable();
        further.dedup();
        if further.is_empty() {
            return further;
        }
        edges = further;
    }
    edges
}

/// Where a fragment may begin, given the edges it lies next to; ranges that overlap are one, so that no byte is looked at twice.
fn ranges(edges: &[u64], fragment: &Fragment, side: Side) -> Vec<(u64, u64)> {
    let (min, max, width) = (u64::from(fragment.min), u64::from(fragment.max), fragment.width as u64);
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for edge in edges {
        let range = match side {
            Side::Right => (edge.saturating_add(min), edge.saturating_add(max)),
            Side::Left => {
                let Some(to) = edge.checked_sub(min + width) else { continue };
                (edge.saturating_sub(max + width), to)
            }
        };
        match ranges.last_mut() {
            Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
            _ => ranges.push(range),
        }
    }
    ranges
}
