//! Runs the tests of `tests/live` and `tests/foreign`, some of which need what this repository does not bring.
//!
//! The harness of the standard library can only pass or fail, and would print a test that found nothing to do as passed. Here it
//! ends as *ignored*, with what it lacks and how that is had, and is counted as such. What `OFFERED_REQUIRE` names
//! (`OFFERED_REQUIRE="nginx tmux"`) must be there: a test that lacks it fails. CI names all that it installed.

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// What tests may need, by its name in `OFFERED_REQUIRE`, and how it is had.
const NEEDS: [(&str, &str); 14] = [
    ("chromium", "apt-get install chromium"),
    ("grpc", "pip install grpcio grpcio-reflection"),
    ("hdrhistogram", "pip install hdrhistogram"),
    ("hey", "build it with sh tests/foreign/tools/fetch DIR, and put DIR on the path"),
    ("ipv6", "a machine that has the address ::1"),
    ("jmeter", "set JMETER_HOME to a directory that sh tests/foreign/jmeter/fetch DIR made"),
    ("nginx", "apt-get install nginx-light"),
    ("plans", "set OFFERED_PLANS to a folder of other tools' plans"),
    ("postgresql", "apt-get install postgresql"),
    ("presence", "a machine that is not taken away for a tenth of a second in each of three runs"),
    ("shared", "files of other people beside the checkout, in ../shared"),
    ("tmux", "apt-get install tmux"),
    ("vegeta", "build it with sh tests/foreign/tools/fetch DIR, and put DIR on the path"),
    ("websockets", "pip install websockets"),
];

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

/// The test `run` by its path, `live::nginx::name`, of which the binary's own name is left out.
pub(crate) fn test<E: End + 'static>(path: &str, run: fn() -> E) -> Trial {
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    Trial::ignorable_test(name, move || {
        let Err(Missing(name)) = run().end() else { return Ok(Completion::Completed) };
        let how = NEEDS.iter().find(|(known, _)| *known == name).map_or("", |(_, how)| how);
        if required().iter().any(|required| required == name) {
            return Err(Failed::from(format!("{name} is required and not here: {how}")));
        }
        Ok(Completion::ignored_with(format!("needs {name}: {how}")))
    })
}

/// Runs the tests of all modules as the command line asks, and ends the process.
pub(crate) fn run(modules: impl IntoIterator<Item = Vec<Trial>>) -> ! {
    required();
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
