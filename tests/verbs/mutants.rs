//! Damaged input files: samples of every kind of input, changed at random (bits, lengths, pieces of each other). Every command must
//! end within ten seconds of CPU time and a gigabyte, without a panic or a signal.
//!
//! The changes depend only on the number of the mutant, so failures are reproducible. `OFFERED_MUTANTS=20000` sets the number.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Default number of mutants.
const USUAL: u64 = 200;
/// Limits of a process: CPU time in seconds, memory in kB; polling interval and maximum number of polls.
const SECONDS: u64 = 10;
const KILOBYTES: u64 = 1 << 20;
const ASKED: Duration = Duration::from_millis(2);
const MOST_ASKED: u32 = 60_000;
/// Maximum size of a mutant; larger ones are truncated.
const LONGEST: usize = 1 << 20;

/// Values that often break parsers of numbers, texts and trees.
const HOSTILE: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"9223372036854775807",
    b"99999999999999999999999999999999999999",
    b"1e308",
    b"-1e-308",
    b"1e999",
    b"NaN",
    b"inf",
    b"0.0000000000000000000000000000001",
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"\"",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{",
    b"\x1b[2J</script>",
    b"1970-01-01T00:00:00Z",
];

/// Reproducible pseudo-random numbers (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for `n` = 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A range within `length` bytes, usually short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 40 };
        from..length.min(from + self.below(most + 1))
    }
}

/// `bytes` with one to four changes; pieces are taken from `others`.
fn mutant(mut bytes: Vec<u8>, others: &[Sample], numbers: &mut Numbers) -> Vec<u8> {
    for _ in 0..=numbers.below(4) {
        let place = numbers.range(bytes.len());
        match numbers.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(place.start) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(place.start) {
                    *byte = numbers.next() as u8;
                }
            }
            3 => bytes.truncate(place.start),
            4 => drop(bytes.drain(place)),
            5 => {
                let piece = bytes[place.clone()].repeat(1 + numbers.below(30));
                bytes.splice(place.end..place.end, piece);
            }
            6 => {
                let other = &others[numbers.below(others.len())].bytes;
                bytes.splice(place, other[numbers.range(other.len())].to_vec());
            }
            _ => {
                // Replace a number, if there is one.
                let digits = (place.start..bytes.len()).find(|at| bytes[*at].is_ascii_digit());
                let from = digits.filter(|_| numbers.below(2) == 0).unwrap_or(place.start);
                let until = (from..bytes.len()).find(|at| !bytes[*at].is_ascii_digit()).unwrap_or(from);
                bytes.splice(from..until, HOSTILE[numbers.below(HOSTILE.len())].iter().copied());
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// A file that one or more commands read.
struct Sample {
    /// File name in its own directory.
    name: String,
    bytes: Vec<u8>,
    /// The commands; `FILE` is its path.
    asked: &'static [&'static [&'static str]],
    /// The directory with its other files, if any.
    among: Option<PathBuf>,
}

const RESULTS: &[&[&str]] = &[&["verify", "FILE"], &["report", "FILE", "-o", "page.html"]];
const LOGS: &[&[&str]] = &[&["logs", "FILE"]];
const PLANS: &[&[&str]] = &[&["import", "FILE"]];
const WORKLOADS: &[&[&str]] = &[&["plan", "solve", "FILE"], &["plan", "flows", "FILE"]];
const RUNS: &[&[&str]] =
    &[&["verify", "."], &["report", ".", "-o", "../page.html"], &["export", ".", "--format", "csv"]];
const SITES: &[&[&str]] = &[&["report", "FILE", "-o", "page.html"]];

/// Every file in this directory of the repository.
fn of_folder(folder: &str, asked: &'static [&'static [&'static str]]) -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    let sample = |file: PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        Sample { name, bytes: fs::read(&file).unwrap(), asked, among: None }
    };
    files.into_iter().map(sample).collect()
}

const WORKLOAD: &str = "\
seed = 7
duration = \"4s\"
skip_first = \"500ms\"
arrivals.partly_open = { rate = \"5/s\", think = { exponential = \"200ms\" } }
target.url = \"http://127.0.0.1:9/\"
thresholds = { \"response.p99\" = \"< 250ms\", \"errors.rate\" = { bound = \"< 5%\", stop = true, after = \"10s\" } }

[server]
servers = 2
discipline = \"ps\"
service = { lognormal = { mean = \"10ms\", scv = 4, within = [\"1ms\", \"1s\"] } }

[variables]
word = \"a {{session}}\"

[[request]]
name = \"home\"
get = \"/\"
weight = 4

[[request]]
name = \"buy\"
post = \"/buy?{word}\"
form = { a = \"1\" }
check = [{ status = \"200..299\" }, { body = true, contains = \"ok\" }]

[[flow]]
name = \"look\"
step = [{ request = \"home\", repeat = 3 }, { request = \"buy\" }]
";

/// Samples: result files, logs, plans, workloads, a document of a site, and every file of a run directory.
fn samples(here: &Path) -> Vec<Sample> {
    let mut samples = of_folder("tests/samples/results", RESULTS);
    samples.extend(of_folder("tests/samples/logs", LOGS));
    samples.extend(of_folder("crates/import/src/tests/seeds", PLANS));
    samples.extend(of_folder("examples", WORKLOADS));
    samples.push(Sample { name: "w.toml".into(), bytes: WORKLOAD.into(), asked: WORKLOADS, among: None });
    fs::write(here.join("w.toml"), WORKLOAD).unwrap();
    let made = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
        command.current_dir(here).args(args).output().unwrap().stdout
    };
    made(&["run", "w.toml", "--quiet", "--dry-run", "exponential:20ms", "--output", "run"]);
    for name in ["run.json", "workload.toml", "events/part-0000.parquet"] {
        let bytes = fs::read(here.join("run").join(name)).unwrap();
        samples.push(Sample { name: name.into(), bytes, asked: RUNS, among: Some(here.join("run")) });
    }
    let log = samples.iter().find(|sample| sample.name == "combined.log").unwrap();
    fs::write(here.join("combined.log"), &log.bytes).unwrap();
    let site = made(&["logs", "combined.log", "--json"]);
    samples.push(Sample { name: "site.json".into(), bytes: site, asked: SITES, among: None });
    samples
}

/// The files of a run directory.
fn files(run: &Path) -> Vec<PathBuf> {
    let parts = fs::read_dir(run.join("events")).unwrap();
    let parts = parts.map(|part| Path::new("events").join(part.unwrap().file_name()));
    parts.chain(["run.json".into(), "workload.toml".into()]).collect()
}

/// A forbidden end of a process.
enum Bad {
    Panic(String),
    Signal(String),
    Hang,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(said) => write!(f, "panic: {said}"),
            Self::Signal(how) => write!(f, "ended by {how}"),
            Self::Hang => f.write_str("does not end"),
        }
    }
}

/// Runs the program with these arguments in `folder`, within the limits.
fn bounded(folder: &Path, args: &[&str]) -> Result<(), Bad> {
    let memory = if cfg!(target_os = "linux") { format!("ulimit -v {KILOBYTES} && ") } else { String::new() };
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -t {SECONDS} && {memory}exec \"$0\" \"$@\"")]);
    let said = folder.join("../stderr");
    let mut child = command
        .arg(env!("CARGO_BIN_EXE_offered"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let mut ended = None;
    for _ in 0..MOST_ASKED {
        ended = child.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        thread::park_timeout(ASKED);
    }
    let Some(ended) = ended else {
        child.kill().unwrap();
        child.wait().unwrap();
        return Err(Bad::Hang);
    };
    let said = String::from_utf8_lossy(&fs::read(&said).unwrap()).into_owned();
    let out_of_time = ["SIGXCPU", "SIGKILL"].iter().any(|signal| ended.to_string().contains(signal));
    match ended.code() {
        Some(101) => Err(Bad::Panic(said)),
        Some(_) if said.contains("panicked at") => Err(Bad::Panic(said)),
        Some(_) => Ok(()),
        None if out_of_time => Err(Bad::Hang),
        None => Err(Bad::Signal(format!("{ended}: {said}"))),
    }
}

/// Makes mutant `number` of a sample in `folder` and runs the commands that read such a file.
fn try_one(number: u64, samples: &[Sample], folder: &Path) -> Result<(), String> {
    // One sample after the other, each with one question after the other.
    let sample = &samples[(number % samples.len() as u64) as usize];
    let asked = sample.asked[((number / samples.len() as u64) % sample.asked.len() as u64) as usize];
    let mut numbers = Numbers(number);
    let bytes = mutant(sample.bytes.clone(), samples, &mut numbers);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    if let Some(among) = &sample.among {
        fs::create_dir(folder.join("events")).unwrap();
        for name in files(among) {
            fs::copy(among.join(&name), folder.join(name)).unwrap();
        }
        // Parts of a killed run may be missing.
        if numbers.below(3) == 0 {
            fs::remove_file(folder.join("run.json")).unwrap();
        }
    }
    fs::write(folder.join(&sample.name), &bytes).unwrap();
    let args: Vec<&str> = asked.iter().map(|arg| if *arg == "FILE" { &*sample.name } else { arg }).collect();
    bounded(folder, &args).map_err(|bad| {
        let kept = std::env::temp_dir().join(format!("offered-mutant-{number}-{}", sample.name.replace('/', "-")));
        fs::write(&kept, &bytes).unwrap();
        format!("mutant {number}: offered {}: {bad} (saved as {})", args.join(" "), kept.display())
    })
}

#[test]
fn damaged_files_never_crash_a_command() {
    let wanted = std::env::var("OFFERED_MUTANTS").map_or(USUAL, |wanted| wanted.parse().expect("a number"));
    let folder = tempfile::tempdir().unwrap();
    let samples = samples(folder.path());
    let (next, bad) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for worker in 0..thread::available_parallelism().map_or(2, usize::from) {
            let (samples, next, bad, folder) = (&samples, &next, &bad, folder.path().join(format!("{worker}/work")));
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= wanted {
                        break;
                    }
                    if let Err(why) = try_one(number, samples, &folder) {
                        eprintln!("{why}");
                        bad.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let bad = bad.into_inner().unwrap();
    let of = samples.len();
    assert!(bad.is_empty(), "{} of {wanted} mutants of {of} samples:\n{}", bad.len(), bad.join("\n"));
}
