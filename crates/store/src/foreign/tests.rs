mod garbage;
mod real;
mod shapes;

use std::path::{Path, PathBuf};

use super::*;
use crate::Stamps;
use offered_model::{Event, Nanos, Outcome};

fn parse(text: impl AsRef<[u8]>) -> Result<Recording, Error> {
    parse_with(text, &ReadOptions::default())
}

fn parse_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Recording, Error> {
    read("file", &mut text.as_ref(), options)
}

/// A real file of ../shared/data; those are never committed, so a test without them says so and passes.
fn real(name: &str) -> Option<Recording> {
    real_with(name, &ReadOptions::default())
}

fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name)
}

fn real_with(name: &str, options: &ReadOptions) -> Option<Recording> {
    let path = shared(name);
    if !path.exists() {
        println!("skipped: no {}", path.display());
        return None;
    }
    Some(crate::read(&path, options).unwrap())
}

/// The launch instants in order of time.
fn launches(recording: &Recording) -> Vec<u64> {
    let mut launches: Vec<u64> = recording.events.iter().map(|event| event.sent.unwrap().0).collect();
    launches.sort_unstable();
    launches
}

/// sdev / mean of the gaps between instants, with n - 1.
fn cov(instants: &[u64]) -> f64 {
    let gaps: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    (squares / (gaps.len() - 1) as f64).sqrt() / mean
}
