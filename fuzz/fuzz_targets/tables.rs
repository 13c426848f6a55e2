#![no_main]

const TABLES: [&str; 15] = [
    "jtl-csv", "gatling-text", "k6-csv", "vegeta-csv", "goose-csv", "hey-csv", "oha-csv", "locust-csv", "ab-g", "phout",
    "h2load", "pgbench", "access-log", "instants", "csv",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offered_fuzz::read_as(bytes, &TABLES));
