//! Runs the tests of `tests/live`, `tests/foreign` and `crates/run/tests/peers`. Some need programs that are not part of
//! this repository.
//!
//! The harness of the standard library can only pass or fail, so a test that lacks a program would be reported as
//! passed. This harness reports it as *ignored*, with the missing requirement and how to install it. Requirements named
//! in `OFFERED_REQUIRE` (`OFFERED_REQUIRE="nginx tmux"`) must be available: a test that lacks one fails. CI names
//! everything that it installs.
//!
//! Shared machines sometimes pause, and measurements during a pause are meaningless. A test that fails while a
//! monitoring thread was woken more than [`AWAY`] too late is repeated, up to [`TRIES`] times in total; after that it
//! is reported as lacking `presence`. A test that fails without a pause has failed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use offered_base::{Instant, Nanos};
use offered_io::Clock;

/// Requirements of tests: the name in `OFFERED_REQUIRE`, and how to install it.
const NEEDS: [(&str, &str); 31] = [
    ("applications", "set OFFERED_APPS to a folder; pip installs the applications of examples/apps there"),
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
    ("llama", "pip install xllamacpp gguf numpy"),
    ("moto", "pip install 'moto[server]'"),
    ("nginx", "apt-get install nginx-light"),
    ("parquet", "pip install pandas polars duckdb pyarrow"),
    ("objects", "test with --features offered/full"),
    ("nomad", "run tests/cluster/nomad-build, and be root"),
    ("plans", "set OFFERED_PLANS to a folder of other tools' plans"),
    ("notebook", "pip install nbclient ipykernel matplotlib pandas pyarrow"),
    ("opentelemetry", "pip install opentelemetry-proto"),
    ("postgresql", "apt-get install postgresql"),
    ("presence", "a machine that does not stand still in each of three tries"),
    ("prometheus", "apt-get install prometheus"),
    ("r", "R with its packages arrow and jsonlite"),
    ("shared", "files of other people beside the checkout, in ../shared"),
    ("slurm", "apt-get install slurm-wlm munge, and be root"),
    ("ssh", "apt-get install openssh-server, and be root"),
    ("static-web", "be root on Linux, and apt-get install nginx-light iproute2 gcc procps"),
    ("strace", "apt-get install strace, on Linux, and a system that lets it trace"),
    ("tmux", "apt-get install tmux"),
    ("vegeta", "build it with sh tests/foreign/tools/fetch DIR, and put DIR on the path"),
    ("websockets", "pip install websockets"),
];

/// Requirements of studies that take a minute: their tests run only if `OFFERED_REQUIRE` names them.
const ON_REQUEST: [&str; 2] = ["e-commerce", "static-web"];

/// A thread woken later than this indicates a pause of the machine.
const AWAY: Nanos = Nanos::from_millis(30);
/// Maximum number of attempts of a test that fails while the machine pauses.
const TRIES: usize = 3;
/// Number of pauses of the machine since the tests started.
static ABSENCES: AtomicU64 = AtomicU64::new(0);

/// Number of tests in the list of the slowest, and the time from which a test is slow.
const SLOWEST: usize = 30;
const SLOW: Instant = Instant::from_secs(5);
/// Duration and name of each test that has ended.
static DURATIONS: Mutex<Vec<(Instant, String)>> = Mutex::new(Vec::new());

/// Held for writing by a test that runs alone, for reading by every other test.
static ALONE: RwLock<()> = RwLock::new(());

/// A requirement that is not available on this machine.
pub(crate) struct Missing(&'static str);

/// Result of a test with requirements. Failed assertions panic, as in other tests.
pub(crate) type Tested = Result<(), Missing>;

/// Returns an error that ends the test if the requirement `name`, one of [`NEEDS`], is not available. One of [`ON_REQUEST`] is available only if
/// it is required.
pub(crate) fn needs(name: &'static str, is_there: bool) -> Tested {
    assert!(NEEDS.iter().any(|(known, _)| *known == name), "{name} is not in the list of needs");
    let is_wanted = !ON_REQUEST.contains(&name) || is_required(name);
    if is_wanted && is_there { Ok(()) } else { Err(Missing(name)) }
}

/// A test: a function without requirements, or one that may report a missing requirement.
pub(crate) trait End {
    /// `Err` with the missing requirement.
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

/// Names in `OFFERED_REQUIRE`; an unknown name is an error.
fn required() -> Vec<String> {
    let names = std::env::var("OFFERED_REQUIRE").unwrap_or_default();
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    for name in &names {
        let known = NEEDS.map(|(known, _)| known);
        assert!(known.contains(&name.as_str()), "OFFERED_REQUIRE: {name} is not one of {}", known.join(", "));
    }
    names
}

/// Whether `OFFERED_REQUIRE` names this requirement.
fn is_required(name: &str) -> bool {
    required().iter().any(|required| required == name)
}

/// Counts pauses of the machine until the process ends.
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

/// Runs the test, and repeats it while the machine pauses.
fn made<E: End>(name: &str, run: fn() -> E) -> Tested {
    for _ in 0..TRIES {
        let before = ABSENCES.load(Relaxed);
        match catch_unwind(AssertUnwindSafe(|| run().end())) {
            Ok(Err(Missing("presence"))) => {}
            Ok(ended) => return ended,
            Err(why) if ABSENCES.load(Relaxed) == before => resume_unwind(why),
            Err(_) => {}
        }
        eprintln!("{name}: the machine paused during this test, which is repeated");
    }
    Err(Missing("presence"))
}

/// Registers the test `run` under its path, such as `live::nginx::name`, without the name of the binary. If `alone`, no
/// other test runs at the same time.
pub(crate) fn test<E: End + 'static>(path: &str, run: fn() -> E, alone: bool) -> Trial {
    let name = path.split_once("::").map_or(path, |(_, name)| name).to_owned();
    Trial::ignorable_test(name.clone(), move || {
        let _others = (!alone).then(|| ALONE.read().unwrap_or_else(PoisonError::into_inner));
        let _all = alone.then(|| ALONE.write().unwrap_or_else(PoisonError::into_inner));
        let clock = Clock::start();
        let made = made(&name, run);
        DURATIONS.lock().unwrap_or_else(PoisonError::into_inner).push((clock.now(), name.clone()));
        let Err(Missing(lacking)) = made else { return Ok(Completion::Completed) };
        let how = NEEDS.iter().find(|(known, _)| *known == lacking).map_or("", |(_, how)| how);
        if is_required(lacking) {
            return Err(Failed::from(format!("{lacking} is required and not here: {how}")));
        }
        let request =
            if ON_REQUEST.contains(&lacking) { "name it in OFFERED_REQUIRE (it takes a minute), " } else { "" };
        Ok(Completion::ignored_with(format!("needs {lacking}: {request}{how}")))
    })
}

/// Runs the tests of all modules according to the command line, prints the slowest, and exits the process. These tests
/// wait most of the time, so six run for each processor.
pub(crate) fn run(modules: impl IntoIterator<Item = Vec<Trial>>) -> ! {
    required();
    std::thread::spawn(watch);
    let mut args = Arguments::from_args();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    args.test_threads = args.test_threads.or(Some(6 * processors));
    let conclusion = libtest_mimic::run(&args, modules.into_iter().flatten().collect());
    let mut durations = DURATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    durations.sort_by(|one, other| other.cmp(one));
    let slowest = durations.iter().take(SLOWEST).filter(|(time, _)| *time >= SLOW);
    let lines: String = slowest.map(|(time, name)| format!("{time:>8} {name}\n")).collect();
    if !lines.is_empty() {
        eprintln!("slowest tests:\n{lines}");
    }
    conclusion.exit()
}

/// Lists the tests of a module. A test that is not listed is an unused function, which the compiler reports. After
/// `long` follow tests that take minutes and run only on request: `cargo test ... -- --ignored`. Tests after `alone`
/// keep all processors busy, so no other test runs at the same time.
macro_rules! tests {
    (alone $($test:ident),+) => {
        pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
            vec![$(tests!(@ $test, true)),+]
        }
    };
    ($($test:ident),+ $(,)? $(; long $($long:ident),+)?) => {
        pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
            vec![$(tests!(@ $test, false)),+ $($(, tests!(@ $long, false).with_ignored_flag(true))+)?]
        }
    };
    (@ $test:ident, $alone:literal) => {
        crate::harness::test(concat!(module_path!(), "::", stringify!($test)), $test, $alone)
    };
}
