//! Runs the tests of `tests/live` and `tests/foreign`, some of which need what this repository does not bring.
//!
//! The harness of the standard library can only pass or fail, and would print a test that found nothing to do as passed. Here it
//! ends as *ignored*, with what it lacks and how that is had, and is counted as such. What `OFFERED_REQUIRE` names
//! (`OFFERED_REQUIRE="nginx tmux"`) must be there: a test that lacks it fails. CI names all that it installed.
//!
//! Machines of many tenants stand still now and then, and what a load tester sees of its own or another's launches meanwhile says
//! nothing of either. A test that fails while a thread beside it was woken more than [`AWAY`] too late is made anew, [`TRIES`] times
//! in all; after that it lacks `presence`. One that fails while the machine was there has failed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use offered_clock::Clock;
use offered_model::Nanos;

/// What tests may need, by its name in `OFFERED_REQUIRE`, and how it is had.
const NEEDS: [(&str, &str); 25] = [
    ("chromium", "apt-get install chromium"),
    ("e-commerce", "be root on Linux with two processors, and apt-get install postgresql python3 util-linux"),
    ("grpc", "pip install grpcio grpcio-reflection"),
    ("hdrhistogram", "pip install hdrhistogram"),
    ("hey", "build it with sh tests/foreign/tools/fetch DIR, and put DIR on the path"),
    ("ipv6", "a machine that has the address ::1"),
    ("jmeter", "set JMETER_HOME to a directory that sh tests/foreign/jmeter/fetch DIR made"),
    (
        "kubernetes",
        "apt-get install etcd-server containerd runc containernetworking-plugins, run tests/cluster/kubernetes-build, test with --features offered/full, and be root",
    ),
    ("linux", "Linux"),
    ("moto", "pip install 'moto[server]'"),
    ("nginx", "apt-get install nginx-light"),
    ("objects", "test with --features offered/full"),
    ("nomad", "run tests/cluster/nomad-build, and be root"),
    ("plans", "set OFFERED_PLANS to a folder of other tools' plans"),
    ("postgresql", "apt-get install postgresql"),
    ("presence", "a machine that does not stand still in each of three tries"),
    ("prometheus", "apt-get install prometheus"),
    ("shared", "files of other people beside the checkout, in ../shared"),
    ("slurm", "apt-get install slurm-wlm munge, and be root"),
    ("ssh", "apt-get install openssh-server, and be root"),
    ("static-web", "be root on Linux, and apt-get install nginx-light iproute2 gcc procps"),
    ("strace", "apt-get install strace, on Linux, and a system that lets it trace"),
    ("tmux", "apt-get install tmux"),
    ("vegeta", "build it with sh tests/foreign/tools/fetch DIR, and put DIR on the path"),
    ("websockets", "pip install websockets"),
];

/// Who is woken so late was away.
const AWAY: Nanos = Nanos::from_millis(30);
/// So often a test is made that fails while the machine is away.
const TRIES: usize = 3;
/// How often the machine has been away since the tests began.
static ABSENCES: AtomicU64 = AtomicU64::new(0);

/// Something that a test needs and this machine does not have.
pub(crate) struct Missing(&'static str);

/// How a test ends that needs something; wrong answers panic, here as everywhere.
pub(crate) type Tested = Result<(), Missing>;

/// Ends a test that needs `name`, one of [`NEEDS`], unless it is there.
pub(crate) fn needs(name: &'static str, is_there: bool) -> Tested {
    assert!(NEEDS.iter().any(|(known, _)| *known == name), "{name} is not in the list of needs");
    if is_there { Ok(()) } else { Err(Missing(name)) }
}

/// A test: a function that needs nothing, or one that may find something missing.
pub(crate) trait End {
    /// `Err` with the name of what is missing.
    fn end(self) -> Tested;
}

impl End for () {
    fn end(self) -> Tested {
        Ok(())
    }
}

impl End for Tested {
    fn end(self) -> Tested {
        self
    }
}

/// Names in `OFFERED_REQUIRE`; one that no test knows is a mistake, not a wish.
fn required() -> Vec<String> {
    let names = std::env::var("OFFERED_REQUIRE").unwrap_or_default();
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    for name in &names {
        let known = NEEDS.map(|(known, _)| known);
        assert!(known.contains(&name.as_str()), "OFFERED_REQUIRE: {name} is none of {}", known.join(", "));
    }
    names
}

/// Counts absences as long as the process lives.
fn watch() {
    let clock = Clock::start();
    loop {
        let wanted = clock.now() + Nanos::from_millis(5);
        clock.sleep_until(wanted);
        if clock.now() > wanted + AWAY {
            ABSENCES.fetch_add(1, Relaxed);
        }
    }
}

/// Makes the test, and makes it anew as long as the machine is away meanwhile.
fn made<E: End>(name: &str, run: fn() -> E) -> Tested {
    for _ in 0..TRIES {
        let before = ABSENCES.load(Relaxed);
        match catch_unwind(AssertUnwindSafe(|| run().end())) {
            Ok(Err(Missing("presence"))) => {}
            Ok(ended) => return ended,
            Err(why) if ABSENCES.load(Relaxed) == before => resume_unwind(why),
            Err(_) => {}
        }
        eprintln!("{name}: the machine was away meanwhile, this says nothing");
    }
    Err(Missing("presence"))
}

/// The test `run` by its path, `live::nginx::name`, of which the binary's own name is left out.
pub(crate) fn test<E: End + 'static>(path: &str, run: fn() -> E) -> Trial {
    let name = path.split_once("::").map_or(path, |(_, name)| name).to_owned();
    Trial::ignorable_test(name.clone(), move || {
        let Err(Missing(lacking)) = made(&name, run) else { return Ok(Completion::Completed) };
        let how = NEEDS.iter().find(|(known, _)| *known == lacking).map_or("", |(_, how)| how);
        if required().iter().any(|required| required == lacking) {
            return Err(Failed::from(format!("{lacking} is required and not here: {how}")));
        }
        Ok(Completion::ignored_with(format!("needs {lacking}: {how}")))
    })
}

/// Runs the tests of all modules as the command line asks, and ends the process.
pub(crate) fn run(modules: impl IntoIterator<Item = Vec<Trial>>) -> ! {
    required();
    std::thread::spawn(watch);
    libtest_mimic::run(&Arguments::from_args(), modules.into_iter().flatten().collect()).exit()
}

/// Lists the tests of a module. One that is left out is an unused function, of which the compiler warns. After `long` come those
/// that take minutes and run when asked for: `cargo test ... -- --ignored`.
macro_rules! tests {
    ($($test:ident),+ $(,)? $(; long $($long:ident),+)?) => {
        pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
            vec![
                $(crate::harness::test(concat!(module_path!(), "::", stringify!($test)), $test)),+
                $($(, crate::harness::test(concat!(module_path!(), "::", stringify!($long)), $long).with_ignored_flag(true))+)?
            ]
        }
    };
}
