//! What the benchmarks share: made-up records, percentiles, and what the machine says of this process.
//!
//! Every benchmark prints what it compared, with versions, sizes and the ratio, from one run. Machines are noisy: read a
//! ratio, not a time.

mod corpus;

pub use corpus::{Corpus, QUERIES};

use std::time::Duration;

/// The value below which this share of the times lies.
pub fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    let place = ((times.len() as f64 - 1.0) * share).round() as usize;
    times.get(place).copied().unwrap_or_default()
}

/// The most memory this process has ever had, in megabytes; `None` where the system does not tell (outside Linux).
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

/// A time as people read it.
pub fn show(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.001 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{:.0} µs", seconds * 1e6),
    }
}
