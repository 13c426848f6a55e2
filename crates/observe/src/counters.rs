//! The counters of the kernel. Their files are opened once and read again for each sample.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::{Error, SampleVisitor, parse};

/// A source that can no longer be read: its process or control group has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostSource {
    /// The name of the source: `pid:4242`, `cgroup:/sys/fs/cgroup/db`.
    pub source: String,
}

/// The format of a file.
#[derive(Clone, Copy)]
enum Format {
    Stat,
    Net,
    Disks,
    Memory,
    Pressure,
    Process,
    ProcessStatus,
    GroupCpu,
    GroupLimit,
    GroupIo,
    /// A single number; its metric name.
    Number(&'static str),
}

/// An open file and its format.
struct Source {
    name: String,
    file: File,
    format: Format,
}

/// The counters of this machine, and of selected processes and control groups.
pub struct Counters {
    sources: Vec<Source>,
    /// The names in `/proc/diskstats` that are whole disks.
    disks: Vec<String>,
    page: u64,
    text: Vec<u8>,
}

impl Counters {
    /// Opens the counters of this machine, of the processes `pids` and of the control groups `groups` (version 2, as directories).
    ///
    /// # Errors
    /// The system is not Linux; a process or group does not exist.
    pub fn open(pids: &[u32], groups: &[PathBuf]) -> Result<Self, Error> {
        let stat = Path::new("/proc/stat");
        let file = File::open(stat).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::NotLinux,
            _ => Error::Io { path: stat.to_owned(), source: error },
        })?;
        let mut sources = vec![Source { name: "cpu".to_owned(), file, format: Format::Stat }];
        // Files that this kernel or container does not have are skipped.
        let mut add = |name: String, path: &Path, format| {
            sources.extend(File::open(path).ok().map(|file| Source { name, file, format }));
        };
        for (path, format) in [("net/dev", Format::Net), ("diskstats", Format::Disks), ("meminfo", Format::Memory)] {
            add(String::new(), &Path::new("/proc").join(path), format);
        }
        for kind in ["cpu", "memory", "io"] {
            add(format!("pressure:{kind}"), &Path::new("/proc/pressure").join(kind), Format::Pressure);
        }
        for pid in pids {
            let file = File::open(format!("/proc/{pid}/stat")).map_err(|_| Error::NoProcess(*pid))?;
            let name = format!("pid:{pid}");
            sources.push(Source { name: name.clone(), file, format: Format::Process });
            let status = File::open(format!("/proc/{pid}/status")).ok();
            sources.extend(status.map(|file| Source { name, file, format: Format::ProcessStatus }));
        }
        for group in groups {
            group_files(group, &mut sources)?;
        }
        Ok(Self { sources, disks: disks(), page: rustix::param::page_size() as u64, text: vec![0; 1 << 16] })
    }

    /// Reads all counters and passes them to `visit`. Returns the sources that can no longer be read; each is reported once.
    pub fn read(&mut self, visit: SampleVisitor<'_>) -> Vec<LostSource> {
        let Self { sources, disks, page, text } = self;
        let mut lost = Vec::new();
        sources.retain(|Source { name, file, format }| {
            let Ok(text) = read_all(file, text) else {
                lost.push(LostSource { source: name.clone() });
                return false;
            };
            match format {
                Format::Stat => parse::stat(&text, visit),
                Format::Net => parse::net(&text, visit),
                Format::Disks => parse::disks(&text, |name| disks.iter().any(|disk| disk == name), visit),
                Format::Memory => parse::memory(&text, visit),
                Format::Pressure => parse::pressure(name, &text, visit),
                Format::Process => parse::process(name, &text, *page, visit),
                Format::ProcessStatus => parse::process_status(name, &text, visit),
                Format::GroupCpu => parse::group_cpu(name, &text, visit),
                Format::GroupLimit => parse::group_limit(name, &text, visit),
                Format::GroupIo => parse::group_io(name, &text, visit),
                Format::Number(metric) => {
                    if let Ok(number) = text.trim().parse() {
                        visit(name, metric, number);
                    }
                }
            }
            true
        });
        lost.dedup();
        lost
    }
}

/// Opens the files of a control group.
fn group_files(group: &Path, sources: &mut Vec<Source>) -> Result<(), Error> {
    let (name, cpu) = (format!("cgroup:{}", group.display()), group.join("cpu.stat"));
    // Control groups of version 1 have a file of the same name in another format.
    let is_group = fs::read_to_string(&cpu).is_ok_and(|text| text.contains("usage_usec "));
    let file = File::open(&cpu).ok().filter(|_| is_group).ok_or_else(|| Error::NoGroup(group.to_owned()))?;
    sources.push(Source { name: name.clone(), file, format: Format::GroupCpu });
    let others = [
        ("cpu.max", Format::GroupLimit),
        ("io.stat", Format::GroupIo),
        ("memory.current", Format::Number("memory_bytes")),
        ("memory.max", Format::Number("memory_limit_bytes")),
    ];
    for (path, format) in others {
        sources.extend(File::open(group.join(path)).ok().map(|file| Source { name: name.clone(), file, format }));
    }
    for kind in ["cpu", "memory", "io"] {
        let opened = File::open(group.join(format!("{kind}.pressure"))).ok();
        let pressure =
            opened.map(|file| Source { name: format!("pressure:{kind}:{name}"), file, format: Format::Pressure });
        // A kernel without pressure accounting has the file but refuses to read it.
        sources.extend(pressure.filter(|source| read_all(&source.file, &mut vec![0; 1 << 12]).is_ok()));
    }
    Ok(())
}

/// The disks of this machine, without partitions, RAM disks and loop devices.
fn disks() -> Vec<String> {
    let listed = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = listed.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !["loop", "ram", "zram"].iter().any(|other| name.starts_with(other))).collect()
}

/// The current content of a file. Reading from offset 0 makes the kernel generate it anew. `buffer` grows as needed.
fn read_all<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<std::borrow::Cow<'a, str>> {
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(String::from_utf8_lossy(&buffer[..length])),
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length == buffer.len() {
            buffer.resize(2 * length, 0);
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_machine_and_a_process_are_read() {
        let mut counters = Counters::open(&[std::process::id()], &[]).unwrap();
        let mut read = || {
            let mut found = Vec::new();
            let lost =
                counters.read(&mut |source, metric, value| found.push((source.to_owned(), metric.to_owned(), value)));
            assert_eq!(lost, []);
            found
        };
        let (first, second) = (read(), read());
        let of = |all: &[(String, String, f64)], source: &str, metric: &str| {
            all.iter().find(|(s, m, _)| s == source && m == metric).map(|(.., value)| *value)
        };
        let pid = format!("pid:{}", std::process::id());
        for (source, metric) in [("cpu", "user_ticks"), ("system", "context_switches"), (&pid, "user_ticks")] {
            assert!(of(&second, source, metric).unwrap() >= of(&first, source, metric).unwrap(), "{source} {metric}");
        }
        assert!(of(&first, &pid, "resident_bytes").unwrap() > 0.0);
        assert!(of(&first, &pid, "allowed_processors").unwrap() >= 1.0);
    }

    #[test]
    fn an_ended_process_is_reported_once() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut counters = Counters::open(&[child.id()], &[]).unwrap();
        let source = format!("pid:{}", child.id());
        assert_eq!(counters.read(&mut |_, _, _| ()), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(counters.read(&mut |_, _, _| ()), [LostSource { source }]);
        assert_eq!(counters.read(&mut |_, _, _| ()), []);
    }

    #[test]
    fn missing_processes_and_groups_are_errors() {
        let why = Counters::open(&[u32::MAX], &[]).err().unwrap().to_string();
        assert!(why.contains("there is no process 4294967295") && why.contains("pidof"), "{why}");
        let folder = PathBuf::from("/proc/self");
        let why = Counters::open(&[], &[folder]).err().unwrap().to_string();
        assert!(why.contains("/proc/self: not a control group of version 2"), "{why}");
    }
}
