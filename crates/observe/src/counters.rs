//! The files of the kernel, opened once and read again for each sample.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::{Take, parse};

/// Why something cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This is no Linux.
    #[error(
        "this system has no /proc to read counters from: only Linux has; run `offered observe` on the server, where that is Linux"
    )]
    NotLinux,
    /// There is no such process.
    #[error("there is no process {0} on this machine; `pidof NAME` tells those of a program")]
    NoProcess(u32),
    /// It is no control group of version 2.
    #[error(
        "{}: is no control group of version 2 (it has no cpu.stat that says usage_usec); `cat /proc/PID/cgroup` tells a process's, below \
         /sys/fs/cgroup, such as /sys/fs/cgroup/system.slice/nginx.service", .0.display()
    )]
    NoGroup(PathBuf),
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What could be read and no longer can, for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// What it was: `pid:4242`, `cgroup:/sys/fs/cgroup/db`.
    pub source: String,
}

/// What a file says.
#[derive(Clone, Copy)]
enum Says {
    Stat,
    Net,
    Disks,
    Memory,
    Pressure,
    Process,
    GroupCpu,
    GroupLimit,
    GroupIo,
    /// A single number, under this name.
    One(&'static str),
}

/// A file, and what is read of it.
struct Source {
    name: String,
    file: File,
    says: Says,
}

/// The counters of this machine, and of what was asked for beside it.
pub struct Counters {
    sources: Vec<Source>,
    /// Those of `/proc/diskstats` that are disks.
    disks: Vec<String>,
    page: u64,
    text: Vec<u8>,
}

impl Counters {
    /// Of this machine, and of these processes and control groups (version 2, by their directories).
    ///
    /// # Errors
    /// The system is no Linux; there is no such process or group.
    pub fn open(pids: &[u32], groups: &[PathBuf]) -> Result<Self, Error> {
        let stat = Path::new("/proc/stat");
        let file = File::open(stat).map_err(|why| match why.kind() {
            ErrorKind::NotFound => Error::NotLinux,
            _ => Error::Io { path: stat.to_owned(), source: why },
        })?;
        let mut sources = vec![Source { name: "cpu".to_owned(), file, says: Says::Stat }];
        // What a kernel or a container does not have is not told.
        let mut maybe = |name: String, path: &Path, says| {
            sources.extend(File::open(path).ok().map(|file| Source { name, file, says }));
        };
        for (path, says) in [("net/dev", Says::Net), ("diskstats", Says::Disks), ("meminfo", Says::Memory)] {
            maybe(String::new(), &Path::new("/proc").join(path), says);
        }
        for kind in ["cpu", "memory", "io"] {
            maybe(format!("pressure:{kind}"), &Path::new("/proc/pressure").join(kind), Says::Pressure);
        }
        for pid in pids {
            let file = File::open(format!("/proc/{pid}/stat")).map_err(|_| Error::NoProcess(*pid))?;
            sources.push(Source { name: format!("pid:{pid}"), file, says: Says::Process });
        }
        for group in groups {
            group_files(group, &mut sources)?;
        }
        Ok(Self { sources, disks: disks(), page: rustix::param::page_size() as u64, text: vec![0; 1 << 16] })
    }

    /// Gives `take` every number there is now; what can no longer be read is told once, and not asked for again.
    pub fn read(&mut self, take: Take<'_>) -> Vec<Gone> {
        let Self { sources, disks, page, text } = self;
        let mut gone = Vec::new();
        sources.retain(|Source { name, file, says }| {
            let Ok(text) = whole(file, text) else {
                gone.push(Gone { source: name.clone() });
                return false;
            };
            match says {
                Says::Stat => parse::stat(&text, take),
                Says::Net => parse::net(&text, take),
                Says::Disks => parse::disks(&text, |name| disks.iter().any(|disk| disk == name), take),
                Says::Memory => parse::memory(&text, take),
                Says::Pressure => parse::pressure(name, &text, take),
                Says::Process => parse::process(name, &text, *page, take),
                Says::GroupCpu => parse::group_cpu(name, &text, take),
                Says::GroupLimit => parse::group_limit(name, &text, take),
                Says::GroupIo => parse::group_io(name, &text, take),
                Says::One(metric) => text.trim().parse().into_iter().for_each(|number| take(name, metric, number)),
            }
            true
        });
        gone.dedup();
        gone
    }
}

/// The files of the control group in this directory.
fn group_files(group: &Path, sources: &mut Vec<Source>) -> Result<(), Error> {
    let (name, cpu) = (format!("cgroup:{}", group.display()), group.join("cpu.stat"));
    // One of version 1 has a file of that name too, which says something else.
    let is_group = fs::read_to_string(&cpu).is_ok_and(|text| text.contains("usage_usec "));
    let file = File::open(&cpu).ok().filter(|_| is_group).ok_or_else(|| Error::NoGroup(group.to_owned()))?;
    sources.push(Source { name: name.clone(), file, says: Says::GroupCpu });
    let others = [
        ("cpu.max", Says::GroupLimit),
        ("io.stat", Says::GroupIo),
        ("memory.current", Says::One("memory_bytes")),
        ("memory.max", Says::One("memory_limit_bytes")),
    ];
    for (path, says) in others {
        sources.extend(File::open(group.join(path)).ok().map(|file| Source { name: name.clone(), file, says }));
    }
    for kind in ["cpu", "memory", "io"] {
        let opened = File::open(group.join(format!("{kind}.pressure"))).ok();
        let pressure =
            opened.map(|file| Source { name: format!("pressure:{kind}:{name}"), file, says: Says::Pressure });
        // A kernel that counts no pressure has the file and refuses to have it read.
        sources.extend(pressure.filter(|source| whole(&source.file, &mut vec![0; 1 << 12]).is_ok()));
    }
    Ok(())
}

/// The disks of this machine: no partitions, and nothing that is only memory or a file.
fn disks() -> Vec<String> {
    let listed = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = listed.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !["loop", "ram", "zram"].iter().any(|other| name.starts_with(other))).collect()
}

/// All that a file says now: from its beginning, for which the kernel makes it anew. `buffer` grows to what it takes.
fn whole<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<std::borrow::Cow<'a, str>> {
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(String::from_utf8_lossy(&buffer[..length])),
            Ok(more) => length += more,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
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
    fn this_machine_and_this_process_are_observed() {
        let mut counters = Counters::open(&[std::process::id()], &[]).unwrap();
        let mut read = || {
            let mut found = Vec::new();
            let gone =
                counters.read(&mut |source, metric, value| found.push((source.to_owned(), metric.to_owned(), value)));
            assert_eq!(gone, []);
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
    }

    #[test]
    fn a_process_that_ends_is_told_once() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut counters = Counters::open(&[child.id()], &[]).unwrap();
        let source = format!("pid:{}", child.id());
        assert_eq!(counters.read(&mut |_, _, _| ()), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(counters.read(&mut |_, _, _| ()), [Gone { source }]);
        assert_eq!(counters.read(&mut |_, _, _| ()), []);
    }

    #[test]
    fn what_is_not_there_is_refused_with_how_it_is_found() {
        let why = Counters::open(&[u32::MAX], &[]).err().unwrap().to_string();
        assert!(why.contains("there is no process 4294967295") && why.contains("pidof"), "{why}");
        let folder = PathBuf::from("/proc/self");
        let why = Counters::open(&[], &[folder]).err().unwrap().to_string();
        assert!(why.contains("/proc/self: is no control group of version 2"), "{why}");
    }
}
