//! Parsing the files of the kernel into numbers, with units in their names.
//!
//! Unknown lines and additional fields are ignored: newer kernels append fields to lines, and lines to files. Sources: proc(5); Documentation/admin-guide/iostats.rst, Documentation/accounting/psi.rst and
//! Documentation/admin-guide/cgroup-v2.rst of Linux.

use crate::SampleVisitor;

/// The fields of a `cpu` line of `/proc/stat`, in their order.
const CPU: [&str; 8] = [
    "user_ticks",
    "nice_ticks",
    "system_ticks",
    "idle_ticks",
    "iowait_ticks",
    "irq_ticks",
    "softirq_ticks",
    "steal_ticks",
];
/// Indexes of the fields that count as busy.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

/// The first fields of an interface in `/proc/net/dev`: received, and sent (eight fields later).
const NET: [(&str, &str); 4] = [
    ("in_bytes", "out_bytes"),
    ("in_packets", "out_packets"),
    ("in_errors", "out_errors"),
    ("in_dropped", "out_dropped"),
];

/// Fields of a disk in `/proc/diskstats`; index 0 is the fourth column.
const DISK: [(usize, &str); 7] = [
    (0, "reads"),
    (2, "read_sectors"),
    (4, "writes"),
    (6, "written_sectors"),
    (8, "under_way"),
    (9, "busy_ms"),
    (10, "queue_ms"),
];

/// `/proc/stat`: the times of all processors by field, busy and idle time of each, runnable and blocked processes, context switches.
pub(crate) fn stat(text: &str, visit: SampleVisitor<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        let mut numbers = rest.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        match name {
            "cpu" => CPU.into_iter().zip(numbers).for_each(|(metric, ticks)| visit("cpu", metric, ticks as f64)),
            "procs_running" => numbers.take(1).for_each(|n| visit("system", "running", n as f64)),
            "procs_blocked" => numbers.take(1).for_each(|n| visit("system", "blocked", n as f64)),
            "ctxt" => numbers.take(1).for_each(|n| visit("system", "context_switches", n as f64)),
            _ if name.strip_prefix("cpu").is_some_and(|core| core.parse::<u32>().is_ok()) => {
                let all: [u64; 8] = std::array::from_fn(|_| numbers.next().unwrap_or(0));
                visit(name, "busy_ticks", BUSY.iter().map(|place| all[*place]).sum::<u64>() as f64);
                visit(name, "idle_ticks", (all[3] + all[4]) as f64);
            }
            _ => {}
        }
    }
}

/// `/proc/net/dev`: each interface as `net:eth0`.
pub(crate) fn net(text: &str, visit: SampleVisitor<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let numbers: Vec<u64> = rest.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let source = format!("net:{}", name.trim());
        for (place, (received, sent)) in NET.into_iter().enumerate() {
            if let (Some(first), Some(second)) = (numbers.get(place), numbers.get(place + 8)) {
                visit(&source, received, *first as f64);
                visit(&source, sent, *second as f64);
            }
        }
    }
}

/// `/proc/diskstats`: each disk for which `is_disk` is true as `disk:sda`. Partitions are part of their disk.
pub(crate) fn disks(text: &str, is_disk: impl Fn(&str) -> bool, visit: SampleVisitor<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(name) = words.next().filter(|name| is_disk(name)) else { continue };
        let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let source = format!("disk:{name}");
        for (place, metric) in DISK {
            if let Some(number) = numbers.get(place) {
                visit(&source, metric, *number as f64);
            }
        }
    }
}

/// A pressure file: the time in which some, or all, runnable tasks were stalled.
pub(crate) fn pressure(source: &str, text: &str, visit: SampleVisitor<'_>) {
    for line in text.lines() {
        let metric = match line.split_once(' ') {
            Some(("some", _)) => "some_us",
            Some(("full", _)) => "full_us",
            _ => continue,
        };
        if let Some(total) = line.rsplit_once("total=").and_then(|(_, total)| total.trim().parse::<u64>().ok()) {
            visit(source, metric, total as f64);
        }
    }
}

/// `/proc/meminfo`: total and available memory and swap.
pub(crate) fn memory(text: &str, visit: SampleVisitor<'_>) {
    for (key, value) in pairs(text) {
        let metric = match key {
            "MemTotal:" => "total_bytes",
            "MemAvailable:" => "available_bytes",
            "SwapTotal:" => "swap_total_bytes",
            "SwapFree:" => "swap_free_bytes",
            _ => continue,
        };
        visit("memory", metric, (value * 1024) as f64);
    }
}

/// `cpu.stat` of a control group: processor time used, and throttling.
pub(crate) fn group_cpu(source: &str, text: &str, visit: SampleVisitor<'_>) {
    for (key, value) in pairs(text) {
        let metric = match key {
            "usage_usec" => "cpu_us",
            "user_usec" => "user_us",
            "system_usec" => "system_us",
            "nr_throttled" => "throttled",
            "throttled_usec" => "throttled_us",
            _ => continue,
        };
        visit(source, metric, value as f64);
    }
}

/// `cpu.max` of a control group, `200000 100000`: its limit in processors. Passes nothing if there is no limit.
pub(crate) fn group_limit(source: &str, text: &str, visit: SampleVisitor<'_>) {
    let mut words = text.split_ascii_whitespace().map(str::parse::<f64>);
    if let (Some(Ok(quota)), Some(Ok(period))) = (words.next(), words.next())
        && period > 0.0
    {
        visit(source, "cpu_limit", quota / period);
    }
}

/// `io.stat` of a control group, `8:0 rbytes=1 wbytes=2 rios=3 wios=4`: the sums over all devices.
pub(crate) fn group_io(source: &str, text: &str, visit: SampleVisitor<'_>) {
    let sum = |key: &str| {
        let words = text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        words.filter_map(|number| number.parse::<u64>().ok()).fold(0, u64::saturating_add)
    };
    for (key, metric) in [("rbytes", "read_bytes"), ("wbytes", "written_bytes"), ("rios", "reads"), ("wios", "writes")]
    {
        visit(source, metric, sum(key) as f64);
    }
}

/// `/proc/PID/stat`: processor times of a process over all its threads, number of threads, resident memory.
pub(crate) fn process(source: &str, text: &str, page: u64, visit: SampleVisitor<'_>) {
    // The name is in parentheses and may itself contain parentheses.
    let Some((_, rest)) = text.rsplit_once(')') else { return };
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    // Index 0 is the third field of the file.
    for (place, metric, unit) in
        [(11, "user_ticks", 1), (12, "system_ticks", 1), (17, "threads", 1), (21, "resident_bytes", page)]
    {
        if let Some(number) = number(place) {
            visit(source, metric, number.saturating_mul(unit) as f64);
        }
    }
}

/// `/proc/PID/status`: number of processors that a process may use (`Cpus_allowed_list: 0-2,7`).
pub(crate) fn process_status(source: &str, text: &str, visit: SampleVisitor<'_>) {
    let Some(list) = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) else { return };
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    if let Some(processors) = list.trim().split(',').map(count).try_fold(0u64, |sum, more| sum.checked_add(more?)) {
        visit(source, "allowed_processors", processors as f64);
    }
}

/// Parses lines such as `key value` and `key: value kB`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?, words.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The values that `parse` passes on, one line each.
    fn found(parse: impl FnOnce(SampleVisitor<'_>)) -> Vec<String> {
        let mut found = Vec::new();
        parse(&mut |source, metric, value| found.push(format!("{source} {metric} {value}")));
        found
    }

    #[test]
    fn processor_times_are_parsed_in_total_and_per_processor() {
        // Linux 6.1, with the eighth processor switched off.
        let text = "cpu  117018 6 43871 2519364 5231 0 1842 77 0 0\ncpu0 58510 4 21930 1259000 2600 0 900 40 0 0\n\
                    cpu9 58508 2 21941 1260364 2631 0 942 37 0 0\nintr 10463218 0 9 0\nctxt 17830113\nbtime 1700000000\n\
                    processes 48211\nprocs_running 3\nprocs_blocked 1\nsoftirq 1 2 3\n";
        assert_eq!(
            found(|visit| stat(text, visit)),
            [
                "cpu user_ticks 117018",
                "cpu nice_ticks 6",
                "cpu system_ticks 43871",
                "cpu idle_ticks 2519364",
                "cpu iowait_ticks 5231",
                "cpu irq_ticks 0",
                "cpu softirq_ticks 1842",
                "cpu steal_ticks 77",
                "cpu0 busy_ticks 81344",
                "cpu0 idle_ticks 1261600",
                "cpu9 busy_ticks 81393",
                "cpu9 idle_ticks 1262995",
                "system context_switches 17830113",
                "system running 3",
                "system blocked 1",
            ]
        );
    }

    #[test]
    fn interfaces_are_parsed_in_both_directions() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n  \
                    eth0: 2295511830  114203    1    2    0     0          0         0  7894888   73918    3    4    0     0       0          0\n";
        assert_eq!(
            found(|visit| net(text, visit)),
            [
                "net:eth0 in_bytes 2295511830",
                "net:eth0 out_bytes 7894888",
                "net:eth0 in_packets 114203",
                "net:eth0 out_packets 73918",
                "net:eth0 in_errors 1",
                "net:eth0 out_errors 3",
                "net:eth0 in_dropped 2",
                "net:eth0 out_dropped 4",
            ]
        );
    }

    #[test]
    fn partitions_are_skipped() {
        let text = " 254       0 vda 11542 3511 1093402 6012 9321 8842 522714 8123 2 9924 14411 0 0 0 0 310 276\n \
                    254       1 vda1 11400 3511 1090000 6000 9321 8842 522714 8123 0 9900 14123\n";
        assert_eq!(
            found(|visit| disks(text, |name| name == "vda", visit)),
            [
                "disk:vda reads 11542",
                "disk:vda read_sectors 1093402",
                "disk:vda writes 9321",
                "disk:vda written_sectors 522714",
                "disk:vda under_way 2",
                "disk:vda busy_ms 9924",
                "disk:vda queue_ms 14411",
            ]
        );
    }

    #[test]
    fn pressure_totals_are_parsed_with_and_without_full() {
        let text =
            "some avg10=0.00 avg60=0.12 avg300=0.40 total=26811437\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
        assert_eq!(
            found(|visit| pressure("pressure:cpu", text, visit)),
            ["pressure:cpu some_us 26811437", "pressure:cpu full_us 12"]
        );
        let older = text.lines().next().unwrap();
        assert_eq!(found(|visit| pressure("pressure:cpu", older, visit)).len(), 1);
    }

    #[test]
    fn memory_is_in_bytes() {
        let text = "MemTotal:        8139744 kB\nMemFree:          211204 kB\nMemAvailable:    6214804 kB\nHugePages_Total:       0\n";
        assert_eq!(
            found(|visit| memory(text, visit)),
            ["memory total_bytes 8335097856", "memory available_bytes 6363959296"]
        );
    }

    #[test]
    fn a_control_group_has_a_limit() {
        let cpu = "usage_usec 1200345\nuser_usec 1000000\nsystem_usec 200345\nnr_periods 10\nnr_throttled 3\nthrottled_usec 41000\n";
        let of = |parse: fn(&str, &str, SampleVisitor<'_>), text: &str| found(|visit| parse("cgroup:db", text, visit));
        assert_eq!(
            of(group_cpu, cpu),
            [
                "cgroup:db cpu_us 1200345",
                "cgroup:db user_us 1000000",
                "cgroup:db system_us 200345",
                "cgroup:db throttled 3",
                "cgroup:db throttled_us 41000",
            ]
        );
        assert_eq!(of(group_limit, "150000 100000\n"), ["cgroup:db cpu_limit 1.5"]);
        assert_eq!(of(group_limit, "max 100000\n"), [""; 0]);
        assert_eq!(
            of(
                group_io,
                "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=5 wbytes=0 rios=1 wios=0\n"
            ),
            ["cgroup:db read_bytes 15", "cgroup:db written_bytes 20", "cgroup:db reads 2", "cgroup:db writes 2"]
        );
        assert_eq!(of(group_io, "")[0], "cgroup:db read_bytes 0", "nothing was read yet");
    }

    #[test]
    fn allowed_processors_are_counted() {
        for (list, expected) in [("0", "1"), ("0-3", "4"), ("0-2,7,9-10", "6")] {
            let text = format!("Name:\tdb\nCpus_allowed:\tf\nCpus_allowed_list:\t{list}\nMems_allowed:\t1\n");
            let line = format!("pid:7 allowed_processors {expected}");
            assert_eq!(found(|visit| process_status("pid:7", &text, visit)), [line]);
        }
        for list in ["", "x", "3-1", "0-18446744073709551615"] {
            let text = format!("Cpus_allowed_list:\t{list}\n");
            assert_eq!(found(|visit| process_status("pid:7", &text, visit)), [""; 0], "{list}");
        }
    }

    #[test]
    fn process_names_may_contain_parentheses() {
        let text = "4242 (a) b (c) S 1 4242 4242 0 -1 4194560 812 0 0 0 731 52 0 0 20 0 7 0 3500 120000000 2048 18446744073709551615 1";
        assert_eq!(
            found(|visit| process("pid:4242", text, 4096, visit)),
            [
                "pid:4242 user_ticks 731",
                "pid:4242 system_ticks 52",
                "pid:4242 threads 7",
                "pid:4242 resident_bytes 8388608"
            ]
        );
    }

    proptest! {
        /// Any text is parsed without a panic, and every value is finite.
        #[test]
        fn any_text_is_read(text in "(cpu[0-9]{0,2}|some|full|[a-z0-9:=() .-]{0,12})([ 0-9:=()a-z\\n]{0,80})") {
            let mut finite = true;
            let visit: SampleVisitor<'_> = &mut |_, _, value| finite &= value.is_finite();
            stat(&text, visit);
            net(&text, visit);
            disks(&text, |_| true, visit);
            pressure("p", &text, visit);
            memory(&text, visit);
            group_cpu("g", &text, visit);
            group_limit("g", &text, visit);
            group_io("g", &text, visit);
            process("p", &text, 4096, visit);
            prop_assert!(finite);
        }
    }
}
