//! Time: the hybrid logical clock that orders changes on every node alike, and the datestamp that OAI-PMH shows.
//!
//! No clock is read here: the caller passes the time in, so that tests and simulations decide it.
//! The clock is our own rather than a crate's because its state must be part of the stored catalogue (several processes
//! share one node's clock through the database) and its counter must be exact under test.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;

use crate::id::{NodeId, ParseError, serde_as_text};

/// How far ahead of our own clock another node's stamp may be. One further ahead waits in quarantine until time catches up.
pub const DRIFT_BOUND: Duration = Duration::from_secs(2 * 60 * 60);

/// A reading of the hybrid logical clock. Newest wins; the node breaks ties, so no two stamps are ever equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Milliseconds since 1970, as far as the writing node knew.
    pub millis: u64,
    /// Orders what one node writes within a millisecond, and after what it has seen.
    pub counter: u16,
    /// Who wrote.
    pub node: NodeId,
}

impl Stamp {
    /// As bytes whose order is the stamps' order, to be stored.
    pub fn to_bytes(self) -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[..8].copy_from_slice(&self.millis.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.counter.to_be_bytes());
        bytes[10..].copy_from_slice(self.node.as_bytes());
        bytes
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fixed width, so that text order is stamp order.
        write!(f, "{:012x}-{:04x}-{}", self.millis, self.counter, self.node)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Stamp {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a stamp (time-counter-node, in hexadecimal)");
        let mut parts = text.splitn(3, '-');
        let (Some(millis), Some(counter), Some(node)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(error());
        };
        if millis.len() != 12 || counter.len() != 4 {
            return Err(error());
        }
        Ok(Stamp {
            millis: u64::from_str_radix(millis, 16).map_err(|_| error())?,
            counter: u16::from_str_radix(counter, 16).map_err(|_| error())?,
            node: node.parse()?,
        })
    }
}

/// A stamp so far in the future that following it would drag this node's clock along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stamp {stamp} is more than two hours ahead of this node's clock; check the clocks of both nodes")]
pub struct TooFarAhead {
    /// The stamp in question.
    pub stamp: Stamp,
}

/// The hybrid logical clock of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    last: Stamp,
}

impl Clock {
    /// The clock of a node that has written nothing and seen nothing.
    pub fn new(node: NodeId) -> Self {
        Clock { last: Stamp { millis: 0, counter: 0, node } }
    }

    /// The clock as it was stored: the last time and counter given out or seen.
    pub fn resume(node: NodeId, millis: u64, counter: u16) -> Self {
        Clock { last: Stamp { millis, counter, node } }
    }

    /// The last reading, to be stored.
    pub fn last(&self) -> Stamp {
        self.last
    }

    /// A new stamp, later than every stamp given out or seen.
    pub fn tick(&mut self, now: Timestamp) -> Stamp {
        let now = millis(now);
        if now > self.last.millis {
            self.last.millis = now;
            self.last.counter = 0;
        } else {
            match self.last.counter.checked_add(1) {
                Some(counter) => self.last.counter = counter,
                None => {
                    self.last.millis += 1;
                    self.last.counter = 0;
                }
            }
        }
        self.last
    }

    /// Takes note of another node's stamp, so that what is written from now on is later than it.
    pub fn witness(&mut self, stamp: Stamp, now: Timestamp) -> Result<(), TooFarAhead> {
        if stamp.millis > millis(now) + DRIFT_BOUND.as_millis() as u64 {
            return Err(TooFarAhead { stamp });
        }
        if (stamp.millis, stamp.counter) > (self.last.millis, self.last.counter) {
            self.last.millis = stamp.millis;
            self.last.counter = stamp.counter;
        }
        Ok(())
    }
}

fn millis(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0)
}

/// An OAI-PMH datestamp: UTC, to the second. Local to a node, given in commit order, never running backwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Datestamp(i64);

impl Datestamp {
    /// The second that `time` falls in.
    pub fn from_timestamp(time: Timestamp) -> Self {
        // Floor, not round towards zero: a second belongs to one datestamp on both sides of 1970.
        Datestamp(time.as_millisecond().div_euclid(1000))
    }

    /// The datestamp stored as seconds since 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Datestamp(seconds)
    }

    /// Seconds since 1970.
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// The instant the datestamp's second begins.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_second(self.0).unwrap_or(if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX })
    }
}

impl fmt::Display for Datestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

impl fmt::Debug for Datestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Datestamp {
    type Err = ParseError;

    /// Reads the second granularity only; what a day means as a bound is the protocol's business.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new(text, "a datestamp (YYYY-MM-DDThh:mm:ssZ)");
        if text.len() != 20 || !text.ends_with('Z') || text.as_bytes()[10] != b'T' {
            return Err(error());
        }
        let time: Timestamp = text.parse().map_err(|_| error())?;
        Ok(Datestamp::from_timestamp(time))
    }
}

serde_as_text!(Stamp, Datestamp);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    #[test]
    fn a_counter_that_runs_over_moves_the_time_on() {
        let mut clock = Clock::resume(NodeId::from_bytes([1; 8]), 5, u16::MAX);
        let stamp = clock.tick(at(5));
        assert_eq!((stamp.millis, stamp.counter), (6, 0));
    }

    #[test]
    fn a_stamp_two_hours_ahead_is_taken_and_one_further_is_not() {
        let mut clock = Clock::new(NodeId::from_bytes([1; 8]));
        let bound = DRIFT_BOUND.as_millis() as u64;
        let ahead = |millis| Stamp { millis, counter: 0, node: NodeId::from_bytes([2; 8]) };
        assert!(clock.witness(ahead(1000 + bound), at(1000)).is_ok());
        let before = clock;
        assert!(clock.witness(ahead(1001 + bound), at(1000)).is_err());
        assert_eq!(clock, before, "a refused stamp leaves the clock alone");
    }

    #[test]
    fn datestamps_read_and_print() {
        let datestamp: Datestamp = "2009-02-14T23:31:30Z".parse().unwrap();
        assert_eq!(datestamp.to_string(), "2009-02-14T23:31:30Z");
        for wrong in
            ["2009-02-14", "2009-02-14T23:31:30", "2009-02-14 23:31:30Z", "2009-13-14T23:31:30Z", "２009-02-14T2330Z"]
        {
            assert!(wrong.parse::<Datestamp>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn ticks_only_rise_whatever_the_wall_clock_does(walls in prop::collection::vec(0i64..5_000, 1..60), seen in prop::collection::vec((0u64..9_000, any::<u16>()), 60)) {
            let mut clock = Clock::new(NodeId::from_bytes([1; 8]));
            let mut last = clock.last();
            for (wall, (millis, counter)) in walls.into_iter().zip(seen) {
                let stamp = clock.tick(at(wall));
                prop_assert!(stamp > last);
                let other = Stamp { millis, counter, node: NodeId::from_bytes([2; 8]) };
                clock.witness(other, at(wall)).unwrap();
                last = clock.tick(at(wall));
                prop_assert!(last > stamp && last > other);
            }
        }

        #[test]
        fn text_order_is_stamp_order(a in any::<(u32, u16, [u8; 8])>(), b in any::<(u32, u16, [u8; 8])>()) {
            let stamp = |(millis, counter, node): (u32, u16, [u8; 8])| Stamp { millis: millis.into(), counter, node: NodeId::from_bytes(node) };
            let (a, b) = (stamp(a), stamp(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
        }
    }
}
