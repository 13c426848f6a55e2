//! Files without send times: the reason why they cannot be verified, and the file of the same tool that can be
//! verified.

use super::Head;

/// How to detect such a file, and the message for the user.
struct Refusal {
    is: fn(&Head) -> bool,
    why: &'static str,
}

const REFUSALS: [Refusal; 22] = [
    Refusal {
        is: |head| head.contains("\"responseTimeHistogram\"") && head.contains("\"latencyPercentiles\""),
        why: "is oha's JSON summary without send times; ask oha for --output-format csv -o FILE, or \
              --db-url FILE",
    },
    Refusal {
        is: |head| head.line().starts_with(b"Running ") && head.contains(" @ http") && head.contains("97.5%"),
        why: "is a summary of autocannon without send times; measure with offered run, or print Date.now() - responseTime \
              at each 'response' event of its JavaScript API (client, statusCode, bytes, responseTime) and give that list",
    },
    Refusal {
        is: |head| head.line().starts_with(b"Running ") && head.contains(" @ http"),
        why: "is a summary of wrk or wrk2 without send times; they keep only a histogram: measure with offered run, or \
              judge the server's access log with microseconds",
    },
    Refusal {
        is: |head| head.line().starts_with(b"This is ApacheBench") || head.contains("Concurrency Level:"),
        why: "is a summary of ab without send times; ask ab for -g FILE (whole seconds only)",
    },
    Refusal {
        is: |head| {
            head.contains("The server is now under siege")
                || head.contains("Longest transaction:")
                || head.contains("\"longest_transaction\"")
                || head.contains("Date & Time,  Trans,  Elap Time,")
                || head.contains(" secs: ") && head.contains(" bytes ==> ")
        },
        why: "is output of siege without times; set verbose = true and timestamp = true in its configuration and give its output (whole seconds), or judge the server's access log",
    },
    Refusal {
        is: |head| ["# stats: dump at", "NewClient:", "Send:", "load:"].iter().any(|start| head.starts_with(start)),
        why: "is a log of Tsung without times of single requests; run Tsung with dumptraffic=\"protocol\" and give tsung.dump",
    },
    Refusal {
        is: |head| head.starts_with("{") && head.contains("\"p97_5\"") && head.contains("\"throughput\""),
        why: "is autocannon's JSON summary without send times; measure with offered run, or print Date.now() - responseTime \
              at each 'response' event of its JavaScript API (client, statusCode, bytes, responseTime) and give that list",
    },
    Refusal {
        is: |head| head.starts_with("{") && head.contains("\"aggregate\"") && head.contains("\"counters\""),
        why: "is Artillery's JSON report, which has counts per 10 s but no send times; add a script that logs each request \
              (beforeRequest with Date.now()) and give that list",
    },
    Refusal {
        is: |head| head.starts_with("{") && head.contains("\"root_group\"") && head.contains("\"metrics\""),
        why: "is k6's summary export without send times; run k6 with --out json=FILE",
    },
    Refusal {
        is: |head| head.contains("http_req_duration....") || head.contains("http_req_blocked...."),
        why: "is k6's printed summary without send times; run k6 with --out json=FILE",
    },
    Refusal {
        is: |head| has_columns(head, "Type,Name,"),
        why: "is Locust's statistics CSV without send times; use locust.contrib.csv_request_logger, one row per request",
    },
    Refusal {
        is: |head| has_columns(head, "Timestamp,User Count,"),
        why: "is Locust's statistics history, which has counts but no send times; use locust.contrib.csv_request_logger; \
              `offered import --input-format locust` turns the history into a workload with the same numbers of users",
    },
    Refusal {
        is: |head| has_columns(head, "Method,Name,Error,Occurrences") || has_columns(head, "Count,Message,Traceback"),
        why: "is Locust's list of failures without send times; use locust.contrib.csv_request_logger",
    },
    Refusal {
        is: |head| head.line().starts_with(b"sampler_label,") || head.line().starts_with(b"Label,# Samples,"),
        why: "is JMeter's aggregate or summary report without send times; give the result log itself (jmeter -l FILE.jtl)",
    },
    Refusal {
        is: |head| head.starts_with("{") && head.contains("\"sampleCount\"") && head.contains("\"pct1ResTime\""),
        why: "is statistics.json of JMeter's dashboard without send times; give the result log itself (jmeter -l FILE.jtl)",
    },
    Refusal {
        is: |head| {
            head.starts_with("{")
                && head.contains("\"numberOfRequests\"")
                && head.contains("\"meanNumberOfRequestsPerSecond\"")
        },
        why: "is Gatling's stats.json without send times; give the run's simulation.log",
    },
    Refusal {
        is: |head| head.starts_with("{") && head.contains("\"RunType\"") && head.contains("\"DurationHistogram\""),
        why: "is fortio's JSON summary without send times; run fortio with -access-log-file FILE",
    },
    Refusal {
        is: |head| {
            head.contains("Response time histogram:")
                || head.contains("Latency distribution:") && head.contains("Requests/sec:")
        },
        why: "is a printed summary of hey or oha without send times; ask hey for -o csv, oha for --output-format csv",
    },
    Refusal {
        is: |head| head.line().starts_with(b"Requests      [total, rate") || head.contains("\"latencies\":{\"total\""),
        why: "is a report of vegeta without send times; run `vegeta encode --to csv` on its results",
    },
    Refusal {
        is: |head| {
            head.bytes.starts_with(b"starting benchmark...") || head.contains("finished in ") && head.contains("req/s")
        },
        why: "is h2load's summary without send times; run h2load with --log-file=FILE",
    },
    Refusal {
        is: |head| head.contains("number of transactions actually processed"),
        why: "is pgbench's summary without send times; run pgbench with -l",
    },
    Refusal {
        is: |head| head.contains("#[Histogram log format") || head.contains("#[Mean    ="),
        why: "is an HdrHistogram without send times; give the log of single requests from which it was made",
    },
];

/// Whether the first line begins with these columns, in quotes or not.
fn has_columns(head: &Head, columns: &str) -> bool {
    head.line().iter().filter(|byte| **byte != b'"').copied().take(columns.len()).eq(columns.bytes())
}

/// The message for a file without send times; `None` for other files.
pub(super) fn why(head: &Head) -> Option<&'static str> {
    REFUSALS.iter().find(|refusal| (refusal.is)(head)).map(|refusal| refusal.why)
}
