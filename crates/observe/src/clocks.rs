//! Comparing the clocks of observed machines with the clock of this one.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::AtomicBool;
use std::thread;

use offered_events::{ClockOffset, WorkerClock};
use offered_io::WallClock;
use offered_rendezvous::query_clock;
use offered_store::ObservedHost;
use offered_workload::Observe;

/// Queries the clock of every observer in `observe` before a run. An observer that does not respond has no token. All
/// observers are queried at the same time, for one second at most. Setting `stop` ends the queries.
pub fn compare_clocks_before(observe: &Observe, wall: WallClock, stop: &AtomicBool) -> Vec<ObservedHost> {
    let host = |(name, address): &(String, String)| ObservedHost {
        name: name.clone(),
        address: address.clone(),
        token: None,
        clock: WorkerClock::default(),
    };
    let mut hosts: Vec<ObservedHost> = observe.hosts.iter().map(host).collect();
    query_all(&mut hosts, wall, stop, &|host, token, offset| {
        (host.token, host.clock.before) = (Some(token), Some(offset));
    });
    hosts
}

/// Queries the clocks again after the run. The response of an observer that was restarted since then is ignored; its
/// token has changed.
pub fn compare_clocks_after(hosts: &mut [ObservedHost], wall: WallClock, stop: &AtomicBool) {
    query_all(hosts, wall, stop, &|host, token, offset| {
        if host.token.is_none_or(|before| before == token) {
            (host.token, host.clock.after) = (Some(token), Some(offset));
        }
    });
}

fn query_all(
    hosts: &mut [ObservedHost],
    wall: WallClock,
    stop: &AtomicBool,
    on_response: &(dyn Fn(&mut ObservedHost, u64, ClockOffset) + Sync),
) {
    thread::scope(|scope| {
        for host in hosts {
            let query = move || {
                // An unknown name counts as no response.
                let addresses: Vec<SocketAddr> = host.address.to_socket_addrs().into_iter().flatten().collect();
                if let Some((token, offset)) = query_clock(wall, addresses, stop) {
                    on_response(host, token, offset);
                }
            };
            // Without a thread the host is not queried.
            let _ = thread::Builder::new().spawn_scoped(scope, query);
        }
    });
}
