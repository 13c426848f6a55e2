//! The text and the files of a recording with known numbers.

use clap::Parser;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use offered_verify::{Criteria, Verdict, verify};

use super::files::Files;
use super::text::{Summary, Text};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    files: Files,
}

/// Requests 10, 30 and 10 ms apart, completed after 5 ms with 1000 bytes, with two alternating labels.
fn recording() -> Recording {
    let events = [0, 10, 40, 50].into_iter().enumerate().map(|(i, ms)| {
        let sent = Instant::from_millis(1_700_000_000_000 + ms);
        Event {
            sent: Some(sent),
            first_byte: Some(sent + Nanos::from_millis(2)),
            done: Some(sent + Nanos::from_millis(5)),
            label: (i % 2) as u16,
            outcome: if i == 3 { Outcome::HttpError } else { Outcome::Ok },
            bytes_in: 1000,
            ..Event::at(sent)
        }
    });
    Recording {
        events: events.collect::<Vec<Event>>().into(),
        labels: vec!["home, sweet".into(), "a/b".into()],
        format: "jtl-csv".into(),
        resolution: Nanos::from_millis(1),
        ..Recording::default()
    }
}

/// The text with every test.
fn page(verdict: &Verdict) -> Text<'_> {
    Text { details: true, ..Text::of(verdict) }
}

fn ask() -> Criteria {
    Criteria { path: "dir/run.v1.jtl".into(), ..Criteria::default() }
}

#[test]
fn the_files_are_the_toolkits() {
    let dir = tempfile::tempdir().unwrap();
    let gaps = dir.path().join("gaps.txt");
    let csv = dir.path().join("csv");
    let command = Command::parse_from([
        "verify",
        "--gaps",
        gaps.to_str().unwrap(),
        "--csv",
        csv.to_str().unwrap(),
        "--max-bins",
        "2",
    ]);
    let (recording, ask) = (recording(), ask());
    command.files.toolkit().write(&recording, &ask, &verify(&recording, &ask).unwrap()).unwrap();
    let text = |name: &str| std::fs::read_to_string(csv.join(name)).unwrap();
    assert_eq!(std::fs::read_to_string(gaps).unwrap(), "10\n30\n10\n");
    // 3 gaps in 55 ms (to the end of the last response); mean 50/3, sdev sqrt(400/3).
    assert_eq!(
        text("run_arr.csv"),
        "Inter-arrival Summary Statistics (ms) - run\n\
         label,n,tps,median,mean,sdev,cv,p90,p95,p99,min,max\n\
         a/b,1,22.22,40,40.00,0.00,0.00,40,40,40,40,40\n\
         \"home, sweet\",1,22.22,40,40.00,0.00,0.00,40,40,40,40,40\n\
         Total,3,54.55,10,16.67,11.55,0.69,30,30,30,10,30\n"
    );
    let aggregate = text("run_agg.csv");
    assert!(aggregate.ends_with("Total,4,72.73,5,5.00,0.00,0.00,5,5,5,5,5,25.00,72.73\n"), "{aggregate}");
    assert!(text("run_byte.csv").contains("Total,4,72.73,1000,1000.00,0.00,0.00,1000,1000,1000,1000,1000\n"));
    assert!(text("run_rt_1st.csv").contains("Total,4,72.73,2,2.00"));
    assert_eq!(
        text("run_Total_arr_0010.csv"),
        "Inter-arrival Time Histogram For Total - run\nMilliseconds,Count\n0,0\n10,2\n20,0\n>20,1\n"
    );
    assert!(csv.join("run_home__sweet_rt_0100.csv").exists() && csv.join("run_a_b_arr_0100.csv").exists());
}

#[test]
fn pages_fit_into_eighty_columns() {
    let (recording, ask) = (recording(), Criteria { by_threads: true, ..ask() });
    let short = verify(&recording, &ask).unwrap();
    // The widest numbers of a table: microseconds, minutes, thousands of requests.
    let mut long = Recording { resolution: Nanos(1), sessions_known: true, ..recording };
    let few = long.events.to_vec().unwrap();
    long.events = (0..5000u64)
        .map(|i| {
            let sent = Instant(1_700_000_000_000_000_000 + i * 2_345_678_901 + i * i % 7 * 100_003);
            let event = &few[(i % 4) as usize];
            Event { sent: Some(sent), done: Some(sent + Nanos::from_secs(100)), first_byte: None, ..event.clone() }
        })
        .map(|event| Event { intended: event.sent.unwrap(), ..event })
        .collect::<Vec<_>>()
        .into();
    let long = verify(&long, &ask).unwrap();
    let pages = format!("{}{}{}", page(&short), page(&long), Summary(&[&short, &long]));
    for line in pages.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    assert!(pages.starts_with("NOT CHECKED  poisson expected: 4 requests are too few"), "{pages}");
    assert!(pages.contains("INVALID      poisson expected, "), "{pages}");
}

#[test]
fn labels_cannot_play_with_the_terminal() {
    let recording = Recording { labels: vec!["a\u{1b}[2Jb".into(), "c\nd".into()], ..recording() };
    let verdict = verify(&recording, &ask()).unwrap();
    let page = page(&verdict).to_string();
    assert!(page.contains("a\\u{1b}[2Jb") && page.contains("c\\nd"), "{page}");
}

#[test]
fn gaps_of_several_recordings_are_refused_before_any_work() {
    let command = Command::parse_from(["verify", "--gaps", "x"]);
    assert!(command.files.check(true).is_ok() && command.files.check(false).is_err());
}
