//! Damaged result files, from the reader to the page: each gives a verdict and a report, or one error.
//!
//! A panic fails the test; an impossible allocation aborts the test program.

use std::io::Cursor;
use std::thread;

use offered_base::{Purpose, Seed};
use offered_store::{ReadOptions, read_from};

use super::*;
use crate::{html, junit, markdown, svg};

/// Number of mutants per sample.
const MUTANTS: u64 = 60;

/// A small file of each kind: times and durations in ms, scheduled and sent times, nanoseconds, send times only.
fn samples() -> [String; 5] {
    let rows = |row: &dyn Fn(u64) -> String| (0..40).map(row).collect::<String>();
    let at = |i: u64| 1_500_000_000_000 + i * 97 % 7 + i * 250;
    let jtl = rows(&|i| format!("{},{},home,200,OK,Users 1-{},text,true,5000,2,2,40\n", at(i), 90 + i % 9, i % 4));
    let exact = rows(&|i| {
        let sent = at(i) * 1_000_000;
        format!("{},20,home,200,true,{},{sent},{},{}\n", at(i), sent - 17, sent + 12_345_678, sent + 20_000_000)
    });
    let vegeta = rows(&|i| format!("{}000000,200,{},10,20,,,,{i},GET,http://h/,\n", at(i), 1_000_000 + i * 999));
    let gatling = rows(&|i| format!("REQUEST\t\thome\t{}\t{}\tOK\t \n", at(i), at(i) + 31));
    let instants = (0..6).map(|i| format!("{}\n", at(i))).collect();
    [
        format!(
            "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,grpThreads,allThreads,Latency\n{jtl}"
        ),
        format!(
            "timeStamp,elapsed,label,responseCode,success,\"intended_ns\",\"sent_ns\",\"first_byte_ns\",\"done_ns\"\n{exact}"
        ),
        vegeta,
        format!("RUN\tc.Sim\tsim\t1500000000000\t \t3.10.5\n{gatling}"),
        instants,
    ]
}

/// `sample` with one to three changes: a digit changed, added or removed, a row duplicated or removed, two rows swapped.
fn mutant(sample: &str, seed: u64) -> String {
    let mut chance = Seed(seed).stream(Purpose::Arrivals);
    let mut below = |n: usize| ((chance.uniform() * n as f64) as usize).min(n - 1);
    let mut text = sample.to_owned();
    for _ in 0..=below(3) {
        let digits: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
        let at = digits[below(digits.len())];
        let digit = char::from(b'0' + below(10) as u8);
        let mut rows: Vec<&str> = text.lines().collect();
        let (one, other) = (below(rows.len()), below(rows.len()));
        match below(6) {
            0 => text.replace_range(at..=at, &digit.to_string()),
            1 => text.insert(at, digit),
            2 => drop(text.remove(at)),
            3 => {
                rows.insert(one, rows[other]);
                text = rows.join("\n") + "\n";
            }
            4 => {
                rows.remove(one);
                text = rows.join("\n") + "\n";
            }
            _ => {
                rows.swap(one, other);
                text = rows.join("\n") + "\n";
            }
        }
    }
    text
}

/// Makes every output of the report of `text`; `false` if the file is refused.
fn reported(text: &str) -> bool {
    let Ok(recording) = read_from("mutant", Cursor::new(text.to_owned()), &ReadOptions::default()) else {
        return false;
    };
    for meant in
        [Criteria::default(), Criteria { target_rate_per_s: Some(4.0), by_threads: true, ..Criteria::default() }]
    {
        let verdict = verify(&recording, &meant).unwrap();
        let chart_data = ChartData::of(&recording, &meant, &verdict.window).unwrap();
        let report = Report::new(vec![Run::new("mutant".to_owned(), verdict, chart_data)]);
        let document = document(&report);
        for (name, chart) in document.charts() {
            svg::svg(chart).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        html::html(&document).unwrap();
        junit::junit(&report).unwrap();
        markdown::markdown(&report);
    }
    true
}

#[test]
fn every_mutant_has_a_report_or_one_error() {
    let every = |which: usize, sample: &str| {
        assert!(reported(sample), "sample {which} is not readable");
        let read = (0..MUTANTS).filter(|seed| reported(&mutant(sample, *seed))).count();
        assert!(read as u64 > MUTANTS / 2, "sample {which}: only {read} mutants were readable");
    };
    thread::scope(|scope| {
        for (which, sample) in samples().into_iter().enumerate() {
            scope.spawn(move || every(which, &sample));
        }
    });
}

#[test]
fn an_outlier_does_not_increase_the_number_of_intervals() {
    assert!(reported("1500000000000\n1500000000250\n15000000005000\n1500000000750\n1500000001000\n1500000001250\n"));
}
