//! JMeter logs in CSV and XML.

use offered_events::Note;
use offered_events::note::RowKind;

use super::shapes::{SAMPLES, T0, after, sample};
use super::*;

#[test]
fn jmeter_csv() {
    let jtl = sample("jtl-csv", 0);
    assert_eq!(jtl.labels, ["home", "a, \"b\"\nc"]);
    let [home, failed, timeout] = &jtl.events.to_vec().unwrap()[..] else { panic!() };
    assert_eq!((home.sent, home.first_byte, home.done), (Some(T0), Some(after(40.0)), Some(after(100.0))));
    assert_eq!((home.session, home.bytes_in, home.bytes_out, home.status), (1, 5000, 120, 200));
    assert_eq!((failed.session, failed.outcome, failed.why().as_ref()), (2, Outcome::HttpError, "Server\nError"));
    assert_eq!((timeout.outcome, timeout.status, timeout.first_byte), (Outcome::Timeout, 0, None));
    assert_eq!(sample("jtl-csv", 1).events.to_vec().unwrap()[1].first_byte, Some(after(127.0)));
    assert_eq!(sample("jtl-csv", 2).events.to_vec().unwrap()[1].sent, Some(after(250.0)));
}

#[test]
fn jmeter_stamps_are_decided_by_overlaps() {
    // One thread, 100 ms per sample, the next right after it. END stamps seem to overlap when they are read as starts.
    let log = |stamps: [u64; 3]| {
        let rows =
            stamps.iter().zip([100, 50, 200]).map(|(at, took)| format!("{at},{took},a,200,OK,T 1-1,text,true,1,1\n"));
        rows.collect::<String>()
    };
    let starts = parse(log([1000, 1100, 1150])).unwrap();
    assert!(starts.stamps.unwrap().starts_with("start of the sample, chosen: of 2 pairs"));
    let ends = parse(log([1100, 1150, 1350])).unwrap();
    assert_eq!(ends.events.to_vec().unwrap(), starts.events.to_vec().unwrap());
    assert!(ends.stamps.unwrap().starts_with("end of the sample"));
    let options = ReadOptions { stamps: Some(TimestampMeaning::Start), ..ReadOptions::default() };
    let forced = parse_with(log([1100, 1150, 1350]), &options).unwrap();
    assert_eq!(forced.events.to_vec().unwrap()[0].sent, Some(Instant::from_millis(1100)));
}

#[test]
fn jmeter_rows_that_are_not_requests() {
    let row = |at: u64, took: u64, label: &str, message: &str| {
        format!("{at},{took},{label},200,{message},T 1-1,text,true,1,1\n")
    };
    let controller = "\"Number of samples in transaction : 2, number of failing samples : 0\"";
    let log = [
        row(1000, 10, "home-0", "OK"),
        row(1010, 20, "home-1", "OK"),
        row(1000, 40, "home", "OK"),
        row(1000, 40, "visit", controller),
        // A request with this name outside of any `home` controller.
        row(2000, 5, "home-1", "OK"),
        row(3000, 50, "page", "OK"),
        row(3000, 50, "page-x", "OK"),
    ];
    let jtl = parse(log.concat()).unwrap();
    let kept: Vec<&str> =
        jtl.events.to_vec().unwrap().iter().map(|event| jtl.labels[usize::from(event.label)].as_str()).collect();
    assert_eq!(kept, ["home", "home-1", "page", "page-x"]);
    assert!(jtl.notes.contains(&Note::Excluded { rows: 2, row_kind: RowKind::SubResults }), "{:?}", jtl.notes);
    assert!(jtl.notes.contains(&Note::Excluded { rows: 1, row_kind: RowKind::Controllers }), "{:?}", jtl.notes);
    let only = parse(row(1000, 40, "visit", controller)).unwrap_err().to_string();
    assert!(only.contains("Generate parent sample"), "{only}");
}

#[test]
fn jmeter_logs_cut_and_appended() {
    let jtl =
        parse("timeStamp,elapsed,label,success\n1000,5,a,true\ntimeStamp,elapsed,label,success\n2000,5,a,true\n3000,")
            .unwrap();
    assert_eq!((jtl.events.launches(), jtl.unreadable), (2, 0));
    assert!(jtl.notes[0] == Note::Truncated, "{:?}", jtl.notes);
    let (_, xml) = SAMPLES.iter().find(|(name, _)| *name == "jtl-xml").unwrap();
    let cut = parse(&xml[..xml.len() - 60]).unwrap();
    assert!(cut.notes.contains(&Note::Truncated), "{:?}", cut.notes);
    assert_eq!(cut.events.launches(), 2);
}

#[test]
fn jmeter_xml_counts_the_inner_samples_of_controllers_only() {
    let jtl = sample("jtl-xml", 0);
    assert_eq!(jtl.labels, ["a & b", "c", "d"]);
    assert_eq!(jtl.events.to_vec().unwrap()[0].first_byte, Some(after(40.0)));
    assert_eq!(
        (jtl.events.to_vec().unwrap()[2].status, jtl.events.to_vec().unwrap()[2].why().as_ref()),
        (404, "Not Found")
    );
    let old = parse("<?xml version=\"1.0\"?><testResults version=\"1.1\"><sampleResult timeStamp=\"1500000000000\" dataType=\"text\" threadName=\"T 1-1\" label=\"a\" time=\"110\" responseMessage=\"OK\" responseCode=\"200\" success=\"true\"/></testResults>").unwrap();
    assert_eq!((old.events.to_vec().unwrap()[0].sent, old.labels[0].as_str()), (Some(T0), "a"));
}
