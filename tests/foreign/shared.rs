//! Real files through the complete program, compared with the facts in ../shared/data/README.md.

use serde_json::Value;

use crate::harness::Tested;
use crate::program::{offered, printed, real, total, verdict};

tests![
    figures_13_and_15_of_brady_and_gunther,
    the_complete_file_is_not_steady,
    apache_log_has_end_timestamps,
    gatling_in_text_and_binary,
    the_samples_of_other_tools,
    nasa_s_web_log
];

#[track_caller]
fn near(value: &Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

/// Checks that every line was printed, ignoring the width of blanks.
#[track_caller]
fn says(printed: &str, lines: &[&str]) {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = printed.lines().map(squeezed).collect();
    for line in lines {
        assert!(printed.iter().any(|found| found == line), "`{line}` is not in\n{}", printed.join("\n"));
    }
}

fn figures_13_and_15_of_brady_and_gunther() -> Tested {
    let file = real("jmeter_1830_AggRpt.csv")?;
    let page =
        printed(offered(&["verify", &file, "--skip-first", "120s", "--take", "1200s", "--by-threads", "--details"]));
    let (gaps, rest) = page.split_once("Response times of ok requests (ms)").unwrap();
    // label n /s median mean sdev CoV p90 p95 p99, then label min max; percentiles are nearest ranks
    says(
        gaps,
        &[
            "010_Home 10026 8.36 82 119.68 119.18 1.00 278 358 555",
            "010_Home 0 1201",
            "012_Home_jpg 10205 8.51 81 117.57 116.97 0.99 270 352 527",
            "012_Home_jpg 0 1145",
            "020_Dept 4975 4.15 172 241.15 232.47 0.96 555 711 1061",
            "020_Dept 0 2285",
            "022_Dept_jpg 5068 4.22 166 236.76 235.35 0.99 547 712 1082",
            "022_Dept_jpg 0 2143",
            "030_Demographics 5220 4.36 161 229.59 229.04 1.00 519 662 1071",
            "030_Demographics 0 2208",
            "040_Statistics 2573 2.15 332 465.92 458.19 0.98 1062 1423 2083",
            "040_Statistics 0 3660",
            "Total 38072 31.73 22 31.52 31.59 1.00 73 94 143",
            "Total 0 435",
        ],
    );
    says(rest, &["Total 38073 31.73 10 52.74 155.39 2.95 25 607 633", "Total 3196 0.00 1910.16"]);
    // The table of Figure 13, with the percentiles of the toolkit.
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables");
    printed(offered(&["verify", &file, "--skip-first", "120s", "--take", "1200s", "--csv", tables.to_str().unwrap()]));
    let figure_13 = std::fs::read_to_string(tables.join("jmeter_1830_AggRpt_arr.csv")).unwrap();
    says(
        &figure_13,
        &[
            "010_Home,10026,8.36,82,119.68,119.18,1.00,278,358,555,0,1201",
            "012_Home_jpg,10205,8.51,81,117.57,116.97,0.99,270,352,527,0,1145",
            "020_Dept,4975,4.15,172,241.15,232.47,0.96,555,710,1038,0,2285",
            "022_Dept_jpg,5068,4.22,166,236.76,235.35,0.99,546,712,1080,0,2143",
            "030_Demographics,5220,4.36,161,229.59,229.04,1.00,519,662,1071,0,2208",
            "040_Statistics,2573,2.15,332,465.92,458.19,0.98,1062,1419,2054,0,3660",
            "Total,38072,31.73,22,31.52,31.59,1.00,73,94,143,0,435",
        ],
    );
    let threads = rest.split_once("Gaps by number of threads").unwrap().1;
    let cov = |threads: &str, line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.len() == 6 && words[0] == threads).then(|| words[5].to_owned())
    };
    for (n, expected) in [("1", "0.56"), ("2", "0.73"), ("3", "0.80"), ("50", "0.99"), ("200", "1.00")] {
        assert_eq!(threads.lines().find_map(|line| cov(n, line)).as_deref(), Some(expected), "{n} threads");
    }
    let verdict = verdict(&file, &["--skip-first", "120s", "--take", "1200s"]);
    near(&total(&verdict, "gaps")["cov"], 1.002, 5e-4);
    near(&verdict["queue"]["users"], 200.0, 1.0);
    near(&verdict["queue"]["think_ms"], 6250.0, 50.0);
    // The gaps look Poisson, but the system is closed, which the counts show.
    assert_eq!((&verdict["pattern"], &verdict["validity"]), (&"under_dispersed".into(), &"invalid".into()));
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.contains(" and more: a finite population (IDC 0."), "{reason}");
    let page = printed(offered(&["verify", &file, "--skip-first", "120s", "--take", "1200s"]));
    says(&page, &["PRINCIPLE B met: CoV 1.002, 95 % 0.992 to 1.012 (limits 0.95 to 1.05)"]);
    // Uniform think times have a C2 of 1/3, and the dispersion of the counts tends to it.
    let windows = verdict["dispersion"].as_array().unwrap();
    near(&windows.last().unwrap()["idc"], 1.0 / 3.0, 0.15);
    let meant = ["--skip-first", "120s", "--take", "1200s", "--expected", "closed:200:uniform:0s,12.5s"];
    assert_eq!(crate::program::verdict(&file, &meant)["validity"], "valid");
    Ok(())
}

fn the_complete_file_is_not_steady() -> Tested {
    let file = real("jmeter_1830_AggRpt.csv")?;
    let verdict = verdict(&file, &[]);
    near(&total(&verdict, "gaps")["cov"], 1.19, 5e-3);
    assert_eq!(verdict["pattern"], "over_dispersed");
    Ok(())
}

fn apache_log_has_end_timestamps() -> Tested {
    let file = real("apache_sample_log1.jtl")?;
    let end = verdict(&file, &[]);
    near(&total(&end, "gaps")["cov"], 0.90, 5e-3);
    assert_eq!(end["source"]["requests"], 10_000);
    let stamps = end["source"]["timestamps"].as_str().unwrap();
    assert!(stamps.starts_with("end") && stamps.contains("4671 overlap if stamps are starts, 0 if"), "{stamps}");
    near(&total(&verdict(&file, &["--stamps", "start"]), "gaps")["cov"], 0.87, 5e-3);
    Ok(())
}

fn gatling_in_text_and_binary() -> Tested {
    let nuxeo = real("nuxeo_simulation-v3.10.log.gz")?;
    let nuxeo = verdict(&nuxeo, &[]);
    near(&total(&nuxeo, "gaps")["cov"], 0.997, 5e-4);
    near(&total(&nuxeo, "gaps")["rate_per_s"], 88.3, 0.1);
    assert_eq!(total(&nuxeo, "responses")["n"], 16_029);
    near(&nuxeo["window"]["end_s"], 181.6, 0.1);
    let together = verdict(&real("taurus_gatling-351-000.simulation.log")?, &[]);
    near(&total(&together, "gaps")["cov"], 2.86, 1e-2);
    assert_eq!((&together["source"]["requests"], &together["pattern"]), (&220.into(), &"bunched".into()));
    let binary = verdict(&real("taurus_gatling-6-314.simulation.log")?, &[]);
    assert_eq!(
        (&binary["source"]["format"], &binary["pattern"]),
        (&"gatling-binary".into(), &"too_few_requests".into())
    );
    Ok(())
}

fn the_samples_of_other_tools() -> Tested {
    let hey = real("samples/hey_c10_q10_5s.csv")?;
    let hey = verdict(&hey, &[]);
    near(&total(&hey, "gaps")["cov"], 2.99, 1e-2);
    assert_eq!(hey["reason"], "requests come in bunches of 10, every 100 ms (limit 1.5)");
    let pgbench = verdict(&real("samples/pgbench_rate50.log")?, &[]);
    near(&total(&pgbench, "gaps")["cov"], 0.945, 5e-4);
    near(&pgbench["expected"]["scheduled_cov"], 0.935, 5e-4);
    assert_eq!(pgbench["source"]["requests"], 162);
    for (name, format) in [
        ("ab.tsv", "ab-g"),
        ("fortio_access.jsonl", "fortio"),
        ("h2load.tsv", "h2load"),
        ("k6_points.json", "k6-json"),
        ("k6_unix_nano.csv", "k6-csv"),
        ("vegeta.csv", "vegeta-csv"),
        ("vegeta.json", "vegeta-json"),
    ] {
        let verdict = verdict(&real(&format!("samples/{name}"))?, &[]);
        assert_eq!((&verdict["source"]["format"], &verdict["source"]["unreadable_rows"]), (&format.into(), &0.into()));
    }
    for (name, remedy) in [("fortio.json", "-access-log-file"), ("k6_unix_seconds.csv", "K6_CSV_TIME_FORMAT=unix_nano")]
    {
        let output = offered(&["verify", &real(&format!("samples/{name}"))?]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(remedy) && error.lines().count() == 1, "{error}");
    }
    Ok(())
}

fn nasa_s_web_log() -> Tested {
    let file = real("nasa_1995-08-01.log.gz")?;
    let verdict = verdict(&file, &[]);
    let (rows, unreadable) = (&verdict["source"]["requests"], &verdict["source"]["unreadable_rows"]);
    assert_eq!(rows.as_u64().unwrap() + unreadable.as_u64().unwrap(), 30_969);
    assert_eq!(verdict["source"]["format"], "access-log");
    Ok(())
}
