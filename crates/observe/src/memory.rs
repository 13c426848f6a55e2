//! The memory available to this process on Linux: the available memory of the system, or the smallest limit of its control groups.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The memory available to this process, in bytes; `None` on systems other than Linux.
pub fn available_memory() -> Option<u64> {
    available_in(Path::new("/"))
}

/// The available memory of a system whose files are under `root`.
fn available_in(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    Some(limits(root).into_iter().chain([free]).min().unwrap_or(free))
}

/// The memory limits of the control groups of this process: its own and all parents, because a limit holds for the whole subtree.
fn limits(root: &Path) -> Vec<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut found = Vec::new();
    // A machine may have both versions of control groups, with the memory controller in either.
    for mount in mounts.lines().filter_map(Mount::parse) {
        let file = match mount.is_version_2 {
            true => "memory.max",
            false => "memory.limit_in_bytes",
        };
        let Some(below) = groups.lines().find_map(|line| mount.below(line)) else { continue };
        let at = root.join(mount.at.trim_start_matches('/'));
        let own = at.join(&below);
        // Without a limit, version 2 has "max" and version 1 a number larger than any memory.
        let limit = |group: &Path| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        found.extend(own.ancestors().take_while(|group| group.starts_with(&at)).filter_map(limit));
    }
    found
}

/// A mount point of a control group hierarchy with the memory controller.
struct Mount<'a> {
    is_version_2: bool,
    /// The group at the root of the mount; in a container often the group of the container.
    root: &'a str,
    at: &'a str,
}

impl<'a> Mount<'a> {
    /// Parses a line of `mountinfo` (proc(5)).
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut system = system.split(' ');
        let (root, at) = (mount.next()?, mount.next()?);
        let (kind, options) = (system.next()?, system.nth(1)?);
        let is_version_2 = kind == "cgroup2";
        (is_version_2 || kind == "cgroup" && options.split(',').any(|option| option == "memory")).then_some(Self {
            is_version_2,
            root,
            at,
        })
    }

    /// The group in a line of `cgroup` (cgroups(7)), relative to the root of this mount; `None` if the line is of another hierarchy.
    fn below(&self, line: &str) -> Option<PathBuf> {
        let mut line = line.splitn(3, ':').skip(1);
        let (controllers, path) = (line.next()?, line.next()?);
        let is_this = match self.is_version_2 {
            true => controllers.is_empty(),
            false => controllers.split(',').any(|one| one == "memory"),
        };
        // A group outside the visible root has at least the limits of the root.
        let below = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(""));
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        is_this.then(|| if is_plain { below.to_owned() } else { PathBuf::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The available memory of a system with these files.
    fn with(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        available_in(root.path())
    }

    const FREE: (&str, &str) =
        ("proc/meminfo", "MemTotal:       24684084 kB\nMemFree:        20526368 kB\nMemAvailable:   21000000 kB\n");
    const MB: u64 = 1 << 20;

    #[test]
    fn without_control_groups_the_memory_of_the_system_counts() {
        assert_eq!(with(&[FREE]), Some(21_000_000 * 1024));
        assert_eq!(with(&[]), None);
    }

    /// A systemd service on Debian 12, in a slice with a limit.
    #[test]
    fn the_smallest_limit_of_all_parent_groups_counts() {
        let mounts = "24 30 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n\
            30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
        let system = |slice: &'static str, service: &'static str| {
            with(&[
                FREE,
                ("proc/self/cgroup", "0::/load.slice/offered.service\n"),
                ("proc/self/mountinfo", mounts),
                // The root of the hierarchy has no such file.
                ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
                ("sys/fs/cgroup/load.slice/memory.max", slice),
                ("sys/fs/cgroup/load.slice/offered.service/memory.max", service),
            ])
        };
        assert_eq!(system("1073741824\n", "max\n"), Some(1024 * MB), "its parent's");
        assert_eq!(system("1073741824\n", "536870912\n"), Some(512 * MB), "its own");
        assert_eq!(system("536870912\n", "1073741824\n"), Some(512 * MB));
        assert_eq!(system("max\n", "max\n"), Some(21_000_000 * 1024));
        assert_eq!(system("1099511627776\n", "max\n"), Some(21_000_000 * 1024), "more than there is");
    }

    /// In a container with a namespace for groups its own is the root; what is above cannot be seen.
    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let mounts = "700 699 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n";
        let at = |group: &'static str| {
            with(&[
                FREE,
                ("proc/self/cgroup", group),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/memory.max", "268435456\n"),
            ])
        };
        assert_eq!(at("0::/\n"), Some(256 * MB));
        assert_eq!(at("0::/../other.scope\n"), Some(256 * MB), "one that was moved out of it");
    }

    /// Docker with the first version and no namespace for groups: the path is that of the machine, and what is mounted only its end.
    #[test]
    fn groups_of_the_first_version_are_read_where_they_are_mounted() {
        let groups = "9:name=systemd:/docker/6f5f\n4:memory:/docker/6f5f/inner\n3:cpuset:/docker/6f5f\n0::/\n";
        let mounts = "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs rw,mode=755\n\
            34 31 0:31 /docker/6f5f /sys/fs/cgroup/cpuset ro,nosuid - cgroup cgroup rw,cpuset\n\
            38 31 0:32 /docker/6f5f /sys/fs/cgroup/memory ro,nosuid master:15 - cgroup cgroup rw,memory\n\
            40 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
        let memory = with(&[
            FREE,
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"),
            ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(memory, Some(128 * MB));
    }
}
