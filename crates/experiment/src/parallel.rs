//! Independent work on several threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use offered_observe::processors;

/// Applies `work` to every item on up to `threads` threads, and returns the results in the order of the items.
pub fn map<'a, T: Sync, R: Send + Sync>(items: &'a [T], threads: usize, work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let done: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let on_one = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(result)) = (items.get(index), done.get(index)) else { return };
            // Every index is taken by one thread only.
            let _ = result.set(work(item));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // If no more threads can be started, the others do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, on_one);
        }
        on_one();
    });
    done.into_iter().map(|one| one.into_inner().expect("every item was worked on")).collect()
}
