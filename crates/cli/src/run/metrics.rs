//! `--metrics`: the figures of a run for a Prometheus.

use std::net::SocketAddr;

use offered_watch::Metrics;

use super::page;
use crate::exit::Failure;
use crate::say::tell;

/// The address that `--metrics` means.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    page::local(text).ok_or_else(|| {
        "write --metrics 127.0.0.1:9464, --metrics 9464, or only --metrics at the end of the line for that port; for a Prometheus on \
         another machine, the address to listen on: --metrics 192.0.2.7:9464"
            .to_owned()
    })
}

/// Serves them and says where.
pub(crate) fn serve(address: SocketAddr) -> Result<Metrics, Failure> {
    let metrics = Metrics::serve(address)
        .map_err(|why| Failure::input(format!("cannot serve metrics at {address}: {why}; choose another --metrics")))?;
    if !address.ip().is_loopback() {
        tell!("warning: other machines can read the figures of this run");
    }
    tell!("metrics: http://{}/metrics", metrics.address());
    Ok(metrics)
}

/// Ends them; whoever has asked while the run went on may fetch the last figures, as long as `wanted`.
pub(crate) fn end(metrics: Metrics, quiet: bool, wanted: impl Fn() -> bool) {
    if !metrics.was_asked() {
        return metrics.end();
    }
    if !quiet {
        tell!("note: waiting up to 15 s for the next scrape of the metrics");
    }
    if !metrics.end_asked(wanted) && !quiet {
        tell!("note: nobody fetched the last metrics");
    }
}
