//! Tests with foreign data: result files, logs and plans of other tools through the complete program, numbers of other
//! solvers compared with ours, and runs of real tools.
//!
//! Loopback only, on free ports. A test that lacks a tool or a file is reported as ignored, with how to install it.

#[macro_use]
#[path = "../harness.rs"]
mod harness;

mod census;
mod exported;
mod formulas;
mod golden;
mod jmeter;
mod nasa;
mod notebooks;
mod plans;
mod program;
mod queues;
mod readers;
mod shared;
mod sites;
mod tools;

fn main() {
    harness::run([
        census::tests(),
        exported::tests(),
        formulas::tests(),
        golden::tests(),
        jmeter::tests(),
        nasa::tests(),
        notebooks::tests(),
        plans::tests(),
        queues::tests(),
        readers::tests(),
        shared::tests(),
        sites::tests(),
        tools::tests(),
    ])
}
