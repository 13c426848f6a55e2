//! `--metrics`: the metrics of a run for Prometheus.

use std::net::SocketAddr;

use offered_watch::MetricsServer;

use super::live_page;
use crate::failure::Failure;
use crate::output::status;

/// Parses the address of `--metrics`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    live_page::local(text).ok_or_else(|| {
        "write --metrics 127.0.0.1:9464, --metrics 9464, or --metrics at the end of the line for that port; for access from \
         other machines, --metrics 192.0.2.7:9464"
            .to_owned()
    })
}

/// Serves the metrics and prints their URL.
pub(crate) fn serve(address: SocketAddr) -> Result<MetricsServer, Failure> {
    let metrics = MetricsServer::serve(address).map_err(|error| {
        Failure::input(format!("cannot serve metrics at {address}: {error}; choose another --metrics"))
    })?;
    if !address.ip().is_loopback() {
        status!("warning: the metrics are readable from other machines");
    }
    status!("metrics: http://{}/metrics", metrics.address());
    Ok(metrics)
}

/// Ends serving. If there were scrapes, waits for the last one while `wanted` is true.
pub(crate) fn end(metrics: MetricsServer, quiet: bool, wanted: impl Fn() -> bool) {
    if !metrics.was_scraped() {
        return metrics.end();
    }
    if !quiet {
        status!("note: waiting up to 15 s for the next scrape of the metrics");
    }
    if !metrics.end_after_last_scrape(wanted) && !quiet {
        status!("note: the final metrics were not scraped");
    }
}
