//! Files of real tools, compared with the facts in ../shared/data/README.md.

use offered_base::{Instant, Nanos};
use offered_events::Recording;
use offered_store::{ReadOptions, TimestampMeaning};

use crate::harness::{Missing, Tested};
use crate::program::real;

tests![
    the_run_1830_of_brady_and_gunther,
    apache_logs_have_end_timestamps,
    gatling_text_and_binary_logs,
    hey_sends_ten_at_a_time,
    pgbench_logs_contain_scheduled_times,
    k6_records_end_times_and_blocked_includes_handshakes,
    vegeta_csv_and_json_agree,
    fortio_h2load_and_ab,
    nasas_web_log
];

/// Reads a real file.
fn read(name: &str) -> Result<Recording, Missing> {
    Ok(offered_store::read(real(name)?.as_ref(), &ReadOptions::default()).unwrap())
}

/// Sent times in order.
fn launches(recording: &Recording) -> Vec<u64> {
    let mut launches: Vec<u64> = recording.events.to_vec().unwrap().iter().map(|event| event.sent.unwrap().0).collect();
    launches.sort_unstable();
    launches
}

/// CoV of the gaps, with n - 1.
fn cov(instants: &[u64]) -> f64 {
    let gaps: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    (squares / (gaps.len() - 1) as f64).sqrt() / mean
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

fn the_run_1830_of_brady_and_gunther() -> Tested {
    let run = read("jmeter_1830_AggRpt.csv")?;
    assert_eq!((run.format.as_str(), run.resolution, run.unreadable), ("jtl-csv", Nanos::from_millis(1), 0));
    assert_eq!(run.labels.len(), 6, "{:?}", run.labels);
    let all = launches(&run);
    near(cov(&all), 1.19, 0.005);
    let (from, to) = (all[0] + 120_000_000_000, all[0] + 1_320_000_000_000);
    let window: Vec<u64> = all.into_iter().filter(|at| (from..=to).contains(at)).collect();
    assert_eq!(window.len(), 38_073);
    near((window[window.len() - 1] - window[0]) as f64 / 38_072.0 / 1e6, 31.52, 0.005);
    near(cov(&window), 1.002, 0.0005);
    assert!(run.stamps.unwrap().starts_with("start"));
    let threads: std::collections::BTreeSet<u64> =
        run.events.to_vec().unwrap().iter().map(|event| event.session).collect();
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), (1..=200).collect::<Vec<_>>());
    Ok(())
}

fn apache_logs_have_end_timestamps() -> Tested {
    let run = read("apache_sample_log1.jtl")?;
    assert_eq!((run.format.as_str(), run.events.launches()), ("jtl-xml", 10_000));
    near(cov(&launches(&run)), 0.90, 0.005);
    let stamps = run.stamps.unwrap();
    assert!(stamps.starts_with("end"), "{stamps}");
    assert!(
        stamps.contains("of 9990 pairs") && stamps.contains(" 4671 overlap") && stamps.contains(" 0 if"),
        "{stamps}"
    );
    let options = ReadOptions { stamps: Some(TimestampMeaning::Start), ..ReadOptions::default() };
    let start = offered_store::read(real("apache_sample_log1.jtl")?.as_ref(), &options).unwrap();
    near(cov(&launches(&start)), 0.87, 0.005);
    Ok(())
}

fn gatling_text_and_binary_logs() -> Tested {
    let nuxeo = read("nuxeo_simulation-v3.10.log.gz")?;
    assert_eq!((nuxeo.format.as_str(), nuxeo.events.launches()), ("gatling-text", 16_029));
    let all = launches(&nuxeo);
    near(cov(&all), 0.997, 0.0005);
    near(16_029.0 / ((all[all.len() - 1] - all[0]) as f64 / 1e9), 88.3, 0.1);
    let taurus = read("taurus_gatling-351-000.simulation.log")?;
    assert_eq!(taurus.events.launches(), 220);
    near(cov(&launches(&taurus)), 2.86, 0.01);
    let binary = read("taurus_gatling-6-314.simulation.log")?;
    assert_eq!((binary.format.as_str(), binary.notes.len()), ("gatling-binary", 0));
    assert_eq!(binary.labels[..3], ["request_0", "request_0 Redirect 1", "jquery.min.js"]);
    // From the bytes of the file: 36 records start with 1, and request_0 took from 0x249 to 0x36b ms after
    // 1_756_297_866_... .
    let first = &binary.events.to_vec().unwrap()[0];
    assert_eq!(first.service(), Some(Nanos::from_millis(0x36b - 0x249).into()));
    assert_eq!(first.sent, Some(Instant::from_millis(0x198_dff0_abd4 + 0x249)));
    Ok(())
}

fn hey_sends_ten_at_a_time() -> Tested {
    let run = read("samples/hey_c10_q10_5s.csv")?;
    near(cov(&launches(&run)), 2.99, 0.01);
    assert_eq!(run.resolution, Nanos::from_micros(100));
    Ok(())
}

fn pgbench_logs_contain_scheduled_times() -> Tested {
    let run = read("samples/pgbench_rate50.log")?;
    assert_eq!(run.events.launches(), 162);
    assert!(run.intent_known);
    near(cov(&launches(&run)), 0.945, 0.0005);
    let mut meant: Vec<u64> = run.events.to_vec().unwrap().iter().map(|event| event.intended.0).collect();
    meant.sort_unstable();
    near(cov(&meant), 0.935, 0.0005);
    Ok(())
}

fn k6_records_end_times_and_blocked_includes_handshakes() -> Tested {
    let csv = read("samples/k6_unix_nano.csv")?;
    let json = read("samples/k6_points.json")?;
    assert_eq!((csv.format.as_str(), json.format.as_str()), ("k6-csv", "k6-json"));
    // Constant arrival rate: k6 schedules constant gaps, so the measured gaps must be nearly constant.
    for run in [&csv, &json] {
        assert!(run.events.launches() > 10 && run.unreadable == 0);
        assert!(cov(&launches(run)) < 0.2, "{}", cov(&launches(run)));
    }
    let seconds = offered_store::read(real("samples/k6_unix_seconds.csv")?.as_ref(), &ReadOptions::default());
    assert!(seconds.unwrap_err().to_string().contains("K6_CSV_TIME_FORMAT=unix_nano"));
    Ok(())
}

fn vegeta_csv_and_json_agree() -> Tested {
    let csv = read("samples/vegeta.csv")?;
    let json = read("samples/vegeta.json")?;
    assert_eq!((csv.format.as_str(), json.format.as_str()), ("vegeta-csv", "vegeta-json"));
    assert_eq!(csv.labels, ["GET http://127.0.0.1:18991/"]);
    assert_eq!(csv.events.to_vec().unwrap(), json.events.to_vec().unwrap());
    Ok(())
}

fn fortio_h2load_and_ab() -> Tested {
    let fortio = read("samples/fortio_access.jsonl")?;
    assert_eq!((fortio.format.as_str(), fortio.events.launches()), ("fortio", 40));
    let h2load = read("samples/h2load.tsv")?;
    assert_eq!((h2load.format.as_str(), h2load.events.launches()), ("h2load", 5));
    let ab = read("samples/ab.tsv")?;
    assert_eq!((ab.format.as_str(), ab.events.launches(), ab.resolution), ("ab-g", 20, Nanos::from_secs(1)));
    let summary =
        offered_store::read(real("samples/fortio.json")?.as_ref(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(summary.contains("-access-log-file"), "{summary}");
    Ok(())
}

fn nasas_web_log() -> Tested {
    let run = read("nasa_1995-08-01.log.gz")?;
    assert_eq!((run.format.as_str(), run.events.launches() + run.unreadable), ("access-log", 30_969));
    assert_eq!(run.events.to_vec().unwrap().iter().map(|event| event.session).max(), Some(2364));
    Ok(())
}
