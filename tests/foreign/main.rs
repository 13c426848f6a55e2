//! What others wrote, and what others know: result files, logs and plans of other tools through the whole program, numbers of
//! other people's solvers against ours, and what real tools write when they are really run.
//!
//! Loopback only, on free ports. What needs a tool or a file that is not there ends as ignored, with how it is had.

#[macro_use]
#[path = "../harness.rs"]
mod harness;

mod census;
mod exported;
mod formulas;
mod golden;
mod jmeter;
mod nasa;
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
        plans::tests(),
        queues::tests(),
        readers::tests(),
        shared::tests(),
        sites::tests(),
        tools::tests(),
    ])
}
