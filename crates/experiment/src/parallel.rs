//! Independent work on all cores.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of cores there are.
pub fn all() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` makes of every item, in their order; neither the order of work nor the number of threads shows.
pub fn map<'a, T: Sync, R: Send + Sync>(items: &'a [T], threads: usize, work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let done: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let on_one = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(place)) = (items.get(place), done.get(place)) else { return };
            // Nobody else has this place.
            let _ = place.set(work(item));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // Where the system has no more threads, those that are there do it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, on_one);
        }
        on_one();
    });
    done.into_iter().map(|one| one.into_inner().expect("every item was worked on")).collect()
}
