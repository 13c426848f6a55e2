//! The program `offered`; see `offered-commands`. It is a package of its own, because a distributed program is optimised as
//! its last crate is (`profile.dist` in `Cargo.toml`), and the commands are compiled for size.

use std::process::ExitCode;

fn main() -> ExitCode {
    offered_commands::main()
}
