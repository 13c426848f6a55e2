//! `--ui`: the live page of a run.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_experiment::Made;
use offered_model::workload::Sessions;
use offered_model::{Share, Workload};
use offered_watch::Page;

use super::result::{model, short};
use crate::exit::Failure;
use crate::report;
use crate::say::tell;

/// The address that `--ui` means: `127.0.0.1:8090`, `[::1]:8090`, or a port of 127.0.0.1 as `8090` or `localhost:8090`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    local(text).ok_or_else(|| {
        "write --ui 127.0.0.1:8090, --ui 8090, or only --ui at the end of the line for a free port; to be seen from other \
         machines, the address to listen on: --ui 192.0.2.7:8090"
            .to_owned()
    })
}

/// An address, or a port of 127.0.0.1 alone.
pub(super) fn local(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix("localhost:").unwrap_or(text).parse::<u16>();
    port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).or_else(|_| text.parse()).ok()
}

/// Serves the page and prints its link.
pub(crate) fn serve(
    address: SocketAddr,
    workload: &Workload,
    share: Share,
    stop: Option<Arc<AtomicBool>>,
) -> Result<Page, Failure> {
    let (about, can_stop) = (about(workload, share), stop.is_some());
    let page = Page::serve(address, about, stop).map_err(|why| {
        Failure::input(format!("cannot serve the live page at {address}: {why}; choose another --ui"))
    })?;
    if !address.ip().is_loopback() {
        tell!(
            "warning: other machines can reach the live page; whoever has its link can watch this run{}",
            if can_stop { " and stop it" } else { "" }
        );
    }
    tell!("live page: {}", page.url());
    Ok(page)
}

/// The page becomes the report of the run. The result was told already: a report that cannot be made is only a warning.
pub(crate) fn end(page: Page, made: &Made, workload: &Workload) {
    match super::seen(made, workload).and_then(|report| report::page(&report)) {
        Ok(report) => page.end(report),
        Err(Failure::Input(why) | Failure::Stopped(why)) => {
            tell!("warning: the live page ends without its report: {why}");
        }
    }
}

/// The run in a line.
fn about(workload: &Workload, share: Share) -> String {
    let load = match (workload.sessions(), workload.asked_rate()) {
        (Sessions::Closed(closed), _) => format!(", {} users", closed.users()),
        (_, Some(rate)) => format!(", asked {}/s", short(rate * share.fraction())),
        _ => String::new(),
    };
    let url = workload.target().map(|target| format!(" at {}", target.url())).unwrap_or_default();
    format!("{}{load}{url}", model(workload))
}

#[cfg(test)]
mod tests {

    #[test]
    fn an_address_is_loopback_unless_it_says_otherwise() {
        for (text, address) in [
            ("8090", "127.0.0.1:8090"),
            ("localhost:8090", "127.0.0.1:8090"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:8090", "[::1]:8090"),
            ("0.0.0.0:8090", "0.0.0.0:8090"),
        ] {
            assert_eq!(super::address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["http://127.0.0.1/", "example.org:80", "70000", ""] {
            assert!(super::address(text).unwrap_err().contains("--ui 127.0.0.1:8090"), "{text}");
        }
    }
}
