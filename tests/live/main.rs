//! Tests of the complete program on real sockets: every request is one event, whatever the server does and however the
//! run ends.
//!
//! Loopback only, on free ports. Every wait is bounded, and every process is ended by its own handle. Tests assert
//! outcomes, not durations.

#[macro_use]
#[path = "../harness.rs"]
mod harness;

mod accounting;
mod answers;
mod applications;
mod chromium;
mod ci;
mod compare;
mod disturbed;
mod e_commerce;
mod engines;
mod grpc;
mod http2;
mod init;
mod inputs;
mod kubernetes;
mod llm;
mod machines;
mod metrics;
mod misbehaviour;
mod nginx;
mod objects;
mod observe;
mod page;
mod pgbench;
mod policies;
mod postgresql;
mod process;
mod proxies;
mod refusals;
mod report;
mod run;
mod saturation;
mod scrapes;
mod scripts;
mod seen;
mod servers;
mod signals;
mod static_web;
mod sweep;
mod theory;
mod tls;
mod twin;
mod watching;
mod websocket;

fn main() {
    harness::run([
        // The longest first, so that none is left alone at the end.
        compare::tests(),
        machines::tests(),
        theory::tests(),
        pgbench::tests(),
        scrapes::tests(),
        metrics::tests(),
        twin::tests(),
        accounting::tests(),
        answers::tests(),
        applications::tests(),
        ci::tests(),
        disturbed::tests(),
        engines::tests(),
        grpc::tests(),
        http2::tests(),
        init::tests(),
        inputs::tests(),
        kubernetes::tests(),
        llm::tests(),
        misbehaviour::tests(),
        nginx::tests(),
        objects::tests(),
        observe::tests(),
        page::tests(),
        policies::tests(),
        postgresql::tests(),
        proxies::tests(),
        refusals::tests(),
        report::tests(),
        saturation::tests(),
        scripts::tests(),
        seen::tests(),
        signals::tests(),
        sweep::tests(),
        tls::tests(),
        watching::tests(),
        websocket::tests(),
        // Tests that run alone start after the others.
        e_commerce::tests(),
        static_web::tests(),
    ])
}
