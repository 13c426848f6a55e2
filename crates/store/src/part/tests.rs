use offered_base::{Purpose, Seed};
use offered_events::{Finish, MetricValue, TokenStream};
use proptest::prelude::*;

use super::*;

fn written(events: &[Event], labels: &[String]) -> Vec<u8> {
    let mut file = Vec::new();
    write(&mut file, &[events.to_vec()], PartContext { labels, ..PartContext::default() }, &mut |_| ()).unwrap();
    file
}

fn read(part: bytes::Bytes, events: &mut Vec<Event>, labels: &mut Labels) -> Result<()> {
    scan(part, labels, Columns::All, &mut |some| events.extend_from_slice(some))
}

/// Two seconds of Poisson traffic at 1,000/s over two threads: four requests, 20 us lateness, 10 ms exponential service, in order of
/// completion.
fn realistic() -> Vec<Event> {
    let seed = Seed(7);
    let (mut gaps, mut service, mut choice) =
        (seed.stream(Purpose::Arrivals), seed.stream(Purpose::Size), seed.stream(Purpose::Choice));
    let mut intended = Instant::from_secs(600);
    let mut events: Vec<Event> = (0..2000u64)
        .map(|i| {
            intended += Nanos::from_secs_f64(gaps.exponential() / 1000.0);
            let sent = intended + Nanos(15_000 + choice.below(10_000));
            let done = sent + Nanos::from_secs_f64(0.01 * service.exponential());
            Event {
                sent: Some(sent),
                first_byte: Some(Instant(done.0 - 20_000 - choice.below(10_000)).max(sent)),
                done: Some(done),
                session: 600_000 + i,
                label: choice.below(4) as u16,
                outcome: Outcome::Ok,
                status: 200,
                bytes_out: 120,
                bytes_in: 5_000 + 300 * choice.below(4),
                worker: (i % 2) as u16,
                connection: choice.below(12) as u32,
                reused: true,
                ..Event::at(intended)
            }
        })
        .collect();
    events.sort_by_key(|event| event.done);
    events
}

#[test]
fn an_event_takes_few_bytes() {
    let labels = ["home", "search", "basket", "pay"].map(str::to_owned);
    let size = written(&realistic(), &labels).len() as f64 / 2000.0;
    assert!(size < 24.0, "{size} bytes an event");
    println!("{size} bytes an event");
}

#[test]
fn too_many_names_for_a_dictionary_are_read() {
    let labels: Vec<String> = (0..6000).map(|i| format!("{i:04}{}", "x".repeat(300))).collect();
    let numbered = |label: u16| Event { label, ..Event::at(Instant(label.into())) };
    let events: Vec<Event> = (0..6000).rev().chain(0..6000).map(numbered).collect();
    let file = written(&events, &labels);
    let spelt = file.windows(labels[0].len()).filter(|name| *name == labels[0].as_bytes()).count();
    assert_eq!(spelt, 2, "a dictionary was enough");
    let (mut read_back, mut names) = (Vec::new(), Labels::default());
    for name in &labels {
        names.number(name.as_bytes());
    }
    read(bytes::Bytes::from(file), &mut read_back, &mut names).unwrap();
    assert!(read_back == events);
}

#[test]
fn a_part_with_other_columns_is_refused_with_a_message() {
    let other = Arc::new(parse_message_type("message m { required int64 intended_ns; }").unwrap());
    let mut bytes = Vec::new();
    SerializedFileWriter::new(&mut bytes, other, Arc::new(properties().build())).unwrap().close().unwrap();
    let error = read(bytes::Bytes::from(bytes), &mut Vec::new(), &mut Labels::default()).unwrap_err();
    assert!(error.to_string().contains("columns"), "{error}");
}

#[test]
fn a_part_without_the_last_columns_is_read() {
    let (whole, names) = (realistic(), ["a", "b", "c", "d"].map(str::to_owned));
    let mut file = Vec::new();
    let context = PartContext { labels: &names, ..PartContext::default() };
    let batches = std::slice::from_ref(&whole);
    let columns: Vec<&ColumnSpec> = COLUMNS[..REQUIRED_COLUMNS].iter().collect();
    write_columns(&columns, properties(), None, &mut file, &row_groups(batches), context, &mut |_| ()).unwrap();
    let (mut read_back, mut labels) = (Vec::new(), Labels::default());
    for name in &names {
        labels.number(name.as_bytes());
    }
    read(bytes::Bytes::from(file), &mut read_back, &mut labels).unwrap();
    assert_eq!(read_back, whole);
}

#[test]
fn columns_without_a_value_are_read_back_from_full_and_other_row_groups() {
    let rows = ROW_GROUP;
    let mut events: Vec<Event> = (0..3 * rows + 10).map(|i| Event::at(Instant(i as u64))).collect();
    // The first group has one value in each kind of column, the second has none, and the third has zeros where there could be nulls.
    let Event { rows: counted, waited, error, reused, .. } = &mut events[rows - 1];
    (*counted, *waited, *error, *reused) = (7, Some(Nanos(5)), Some(Reason::read("refused")), true);
    events[2 * rows].waited = Some(Nanos::ZERO);
    events[2 * rows..3 * rows].iter_mut().for_each(|event| event.handshake = Some(Nanos::ZERO));
    let file = bytes::Bytes::from(written(&events, &["home".to_owned()]));
    let skipped = |group: usize| {
        let file = SerializedFileReader::new(file.clone()).unwrap();
        let columns = file.metadata().row_group(group).columns();
        let blank = columns.iter().filter(|column| is_blank(column));
        blank.map(|column| column.column_path().string()).collect::<Vec<_>>()
    };
    let [first, second, third, last] = [0, 1, 2, 3].map(skipped);
    assert!(!["rows", "waited_ns", "error", "reused"].iter().any(|name| first.iter().any(|skipped| skipped == name)));
    assert_eq!(second.len(), COLUMNS.len() - streams::COUNT - 7 - 3, "all but times, label and outcome: {second:?}");
    assert!(!third.iter().any(|name| name == "waited_ns" || name == "handshake_ns") && third.len() + 2 == second.len());
    assert!(last.is_empty(), "{last:?}");
    let (mut read_back, mut names) = (Vec::new(), Labels::default());
    read(file, &mut read_back, &mut names).unwrap();
    assert!(read_back == events);
}

#[test]
fn row_groups_are_full_whatever_the_batches() {
    let batches: Vec<Vec<Event>> = [1030, 1, 0, 9000, 1024].map(|n| vec![Event::at(Instant::ZERO); n]).into();
    let groups = row_groups(&batches);
    let rows = |group: &Vec<&[Event]>| group.iter().map(|piece| piece.len()).sum::<usize>();
    assert_eq!(groups.iter().map(rows).collect::<Vec<_>>(), [ROW_GROUP, 11_055 - ROW_GROUP]);
    // A batch of a little more than a thousand events has four pieces.
    let expected = [&[300, 300, 300, 130, 1][..], &[300; 23], &[261]].concat();
    assert_eq!(groups[0].iter().map(|piece| piece.len()).collect::<Vec<_>>(), expected);
    assert!(row_groups::<Vec<Event>>(&[]).is_empty());
}

#[test]
fn visits_have_columns_only_where_there_are_visits() {
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let visit = |i: usize| VisitPosition { number: (i / 9) as u16, place: (i % 3) as u16, ends: i % 3 == 2 };
    let visiting: Vec<Event> = realistic()
        .into_iter()
        .enumerate()
        .map(|(i, event)| Event { visit: (i % 4 > 0).then(|| visit(i)), ..event })
        .collect();
    let (file, without) = (written(&visiting, &names), written(&realistic(), &names));
    let (mut read_back, mut labels) = (Vec::new(), Labels::default());
    for name in &names {
        labels.number(name.as_bytes());
    }
    read(bytes::Bytes::from(file.clone()), &mut read_back, &mut labels).unwrap();
    assert!(read_back == visiting);
    let columns = |file: Vec<u8>| {
        let read = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        read.metadata().file_metadata().schema().get_fields().len()
    };
    assert_eq!(columns(file), columns(without) + 4);
}

#[test]
fn metrics_are_a_json_array() {
    let values = |numbers: &[Option<f64>]| Some(numbers.iter().map(|number| MetricValue::new(*number)).collect());
    let measured = Event { metrics: values(&[Some(12.0), None, Some(-0.125)]), ..Event::at(Instant(1)) };
    let events = vec![measured, Event::at(Instant(2))];
    let file = written(&events, &["a".to_owned()]);
    assert!(file.windows(18).any(|bytes| bytes == b"[12.0,null,-0.125]"));
    let mut read_back = Vec::new();
    read(bytes::Bytes::from(file), &mut read_back, &mut Labels::default()).unwrap();
    assert!(read_back == events);
}

#[test]
fn columns_are_signed_and_the_footer_holds_the_start() {
    let mut file = Vec::new();
    let context = PartContext { started: Some(Nanos::from_secs(1_700_000_000)), ..PartContext::default() };
    write(&mut file, &[realistic()], context, &mut |_| ()).unwrap();
    let read = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let metadata = read.metadata().file_metadata();
    let start = metadata.key_value_metadata().unwrap().iter().find(|pair| pair.key == STARTED).unwrap();
    assert_eq!(start.value.as_deref(), Some("1700000000000000000"));
    for column in metadata.schema().get_fields() {
        let kind = column.get_basic_info();
        let numeric = column.get_physical_type() != parquet::basic::Type::BYTE_ARRAY;
        assert!(!numeric || kind.logical_type_ref().is_none(), "{}: {:?}", column.name(), kind.logical_type_ref());
    }
}

#[test]
fn a_checksum_reveals_a_flipped_bit_and_a_part_without_one_is_trusted() {
    let file = written(&realistic(), &["home".to_owned()]);
    // Rename the footer key, so that the part has no checksum.
    let at = file.windows(SEAL.len()).position(|bytes| bytes == SEAL.as_bytes()).unwrap();
    let mut unsealed = file.clone();
    unsealed[at + SEAL.len() - 1] = b'x';
    let read_of = |file: &[u8]| {
        let mut events = Vec::new();
        read(bytes::Bytes::copy_from_slice(file), &mut events, &mut Labels::default()).map(|()| events)
    };
    assert!(read_of(&unsealed).unwrap() == read_of(&file).unwrap());

    // In the middle of the first column: a scheduled time changes, which only the checksum reveals.
    let (mut flipped, mut moved) = (file, unsealed);
    flipped[1000] ^= 1;
    moved[1000] ^= 1;
    assert!(read_of(&moved).is_ok());
    let why = read_of(&flipped).unwrap_err().to_string();
    assert!(why.contains("the checksum of the file does not match its content"), "{why}");
}

#[test]
fn no_flipped_bit_changes_an_event_unnoticed() {
    let (events, labels) = (realistic(), ["home", "search", "basket", "pay"].map(str::to_owned));
    let file = written(&events, &labels);
    let read_of = |file: Vec<u8>| {
        let (mut events, mut labels) = (Vec::new(), Labels::default());
        read(bytes::Bytes::from(file), &mut events, &mut labels).map(|()| (events, labels.names().to_owned()))
    };
    let whole = read_of(file.clone()).unwrap();
    let mut place = Seed(11).stream(Purpose::Choice);
    let mut refused = 0;
    for _ in 0..300 {
        let mut damaged = file.clone();
        damaged[place.below(file.len() as u64) as usize] ^= 1 << place.below(8);
        match read_of(damaged) {
            Ok(read) => assert!(read == whole, "a flipped bit changed the events"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 250, "{refused} of 300");
}

fn any_stream() -> impl Strategy<Value = Option<Box<TokenStream>>> {
    let instant = || any::<Option<u64>>().prop_map(|at| at.map(Instant));
    let time = || any::<Option<u64>>().prop_map(|time| time.map(Nanos));
    let instants = (any::<u64>().prop_map(Instant), instant(), instant(), instant(), instant(), instant());
    let tokens = (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>());
    let chunks = (
        any::<Option<u64>>(),
        any::<u64>(),
        any::<u64>(),
        time(),
        any::<Vec<u32>>(),
        time(),
        time(),
        0..=Finish::ALL.len(),
    );
    let stream = (instants, tokens, chunks).prop_map(|(instants, tokens, chunks)| {
        let (head, first_token, first_answer, last_token, first_earliest, last_earliest) = instants;
        let (tokens_in, tokens_cached, tokens_out, tokens_first) = tokens;
        let (tokens_intended, chunks, coalesced, gap_max, gaps_us, read_late, last_read_late, finish) = chunks;
        let finish = Finish::ALL.get(finish).copied();
        let times = TokenStream {
            head,
            first_token,
            first_answer,
            last_token,
            first_earliest,
            last_earliest,
            ..TokenStream::default()
        };
        let counts = TokenStream {
            tokens_intended,
            tokens_in,
            tokens_cached,
            tokens_out,
            tokens_first,
            chunks,
            coalesced,
            ..times
        };
        Box::new(TokenStream { gap_max, gaps_us, finish, read_late, last_read_late, ..counts })
    });
    prop::option::of(stream)
}

fn any_event() -> impl Strategy<Value = Event> {
    let times = (any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>());
    let whole = (any::<u64>(), any::<u32>(), 0..3u16, 0..Outcome::ALL.len(), any::<u16>(), any::<u64>(), any::<u64>());
    let rest = (any::<u16>(), any::<u32>(), any::<bool>(), any::<Option<String>>(), any::<Option<u64>>(), any::<u16>());
    let counts = (any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>());
    let late = (any::<Option<u64>>(), any::<u64>(), counts, any::<Option<u64>>(), any::<[Option<u64>; 2]>());
    let visit = prop::option::of((any::<u16>(), any::<u16>(), any::<bool>()));
    let metrics = prop::option::of(prop::collection::vec(any::<Option<f64>>(), 0..3));
    (times, whole, rest, late, any_stream(), visit, metrics).prop_map(|(t, w, r, l, stream, visit, metrics)| Event {
        stream,
        metrics: metrics.map(|values| values.into_iter().map(MetricValue::new).collect()),
        visit: visit.map(|(number, place, ends)| VisitPosition { number, place, ends }),
        intended: Instant(t.0),
        sent: t.1.map(Instant),
        handshake: r.4.map(Nanos),
        waited: l.0.map(Nanos),
        first_byte: t.2.map(Instant),
        done: t.3.map(Instant),
        reading_lateness: l.3.map(Nanos),
        done_lateness: l.4[0].map(Nanos),
        writing_lateness: l.4[1].map(Nanos),
        session: w.0,
        step: w.1,
        object: r.5,
        label: w.2,
        outcome: Outcome::ALL[w.3],
        status: w.4,
        bytes_out: w.5,
        bytes_in: w.6,
        rows: l.1,
        worker: r.0,
        connection: r.1,
        reused: r.2,
        redirects: l.2.0,
        token_requests: l.2.1,
        resends: l.2.1,
        retries: l.2.2,
        attempt: l.2.3,
        error: r.3.map(Into::into),
    })
}

#[test]
fn a_footer_with_an_absurd_list_length_is_an_error_at_once() {
    // Found by fuzzing: a list of booleans of maximum length in an unknown field.
    let found = b"PAR1\n2RAwP\n\nA\xec\xeb\xeb\xe9@!\xec\xeb\xe9\0\0\x04PA\0R\x13\0\0\0PAR1";
    for file in [&found[..], b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PAR1\0\x01\0\0\0PAR1"] {
        assert!(read(bytes::Bytes::copy_from_slice(file), &mut Vec::new(), &mut Labels::default()).is_err());
    }
}

proptest! {
    #[test]
    fn written_events_are_read_back(events in prop::collection::vec(any_event(), 0..50)) {
        let labels = ["a", "b", "c"].map(str::to_owned);
        let file = written(&events, &labels);
        let (mut read_back, mut names) = (Vec::new(), Labels::default());
        for name in &labels {
            names.number(name.as_bytes());
        }
        let file = bytes::Bytes::from(file);
        read(file.clone(), &mut read_back, &mut names).unwrap();
        prop_assert_eq!(&read_back, &events);
        let place = |event: &Event| (event.key(), event.object, event.attempt);
        let late = |e: &Event| (e.reading_lateness, e.done_lateness, e.writing_lateness, e.retries);
        let answer =
            |e: &Event| (place(e), e.session, e.first_byte, e.done, e.status, e.bytes_in, late(e), e.stream.clone());
        let wire = |e: &Event| (place(e), e.status, e.reused, e.error.clone(), e.redirects, e.resends, e.retries, e.token_requests);
        let (mut places, mut answers, mut wires) = (Vec::new(), Vec::new(), Vec::new());
        scan(file.clone(), &mut names, Columns::Key, &mut |some| places.extend(some.iter().map(place))).unwrap();
        scan(file.clone(), &mut names, Columns::Wire, &mut |some| wires.extend(some.iter().map(wire))).unwrap();
        scan(file, &mut names, Columns::Response, &mut |some| answers.extend(some.iter().map(answer))).unwrap();
        prop_assert_eq!(wires, events.iter().map(wire).collect::<Vec<_>>());
        prop_assert_eq!(places, events.iter().map(place).collect::<Vec<_>>());
        prop_assert_eq!(answers, events.iter().map(answer).collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_part_is_an_error_and_no_panic(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut file = written(&realistic()[..40], &["home".to_owned()]);
        let at = at.index(file.len());
        file[at] = byte;
        if cut {
            file.truncate(at);
        }
        let _ = read(bytes::Bytes::from(file), &mut Vec::new(), &mut Labels::default());
    }
}

#[test]
fn parts_that_are_much_larger_than_their_files_are_refused() {
    use parquet::basic::{Compression, ZstdLevel};
    let made = |properties, count: usize, label: usize, reason: &str| {
        let mut file = Vec::new();
        let error = Some(Reason::read(reason));
        let events = vec![Event { error, ..Event::at(Instant::ZERO) }; count];
        let context = PartContext { labels: &["x".repeat(label)], ..PartContext::default() };
        let columns: Vec<&ColumnSpec> = COLUMNS.iter().collect();
        write_columns(&columns, properties, None, &mut file, &row_groups(&[events]), context, &mut |_| ()).unwrap();
        (file.len(), read(file.into(), &mut Vec::new(), &mut Labels::default()))
    };
    let compressed = || properties().set_compression(Compression::ZSTD(ZstdLevel::default()));
    // A part that another program has compressed.
    assert!(made(compressed(), 1000, 100, "reset").1.is_ok());
    // One page of 17 MiB, and pages that sum up to as much.
    let (bytes, refused) = made(compressed(), 1, 17 << 20, "reset");
    let message = refused.unwrap_err().to_string();
    assert!(bytes < 1_000_000 && message.contains("after decompression, more than 16777216"), "{bytes}: {message}");
    let plain = || compressed().set_dictionary_enabled(false);
    let (bytes, refused) = made(plain(), 1000, 40_000, "reset");
    let message = refused.unwrap_err().to_string();
    assert!(bytes < 100_000 && message.contains("bytes, and 4"), "{bytes}: {message}");
    // Values that repeat the beginning of the one before.
    let error = ColumnPath::from("error");
    let prefixes = properties()
        .set_column_dictionary_enabled(error.clone(), false)
        .set_column_encoding(error, Encoding::DELTA_BYTE_ARRAY);
    let message = made(prefixes, 1000, 9, &"r".repeat(90_000)).1.unwrap_err().to_string();
    assert!(message.contains("DELTA_BYTE_ARRAY"), "{message}");
}

#[test]
fn gaps_that_a_dictionary_repeats_are_refused() {
    let of_streams = |count: usize, gaps: usize| {
        let stream = Some(Box::new(TokenStream { gaps_us: vec![7; gaps], ..TokenStream::default() }));
        let event = Event { stream, ..Event::at(Instant::ZERO) };
        let file = written(&vec![event; count], &["a".into()]);
        (file.len(), read(file.into(), &mut Vec::new(), &mut Labels::default()))
    };
    assert!(of_streams(1000, 1000).1.is_ok());
    let (bytes, refused) = of_streams(500, 20_000);
    let message = refused.unwrap_err().to_string();
    assert!(bytes < 100_000 && message.contains("gaps of 500 streams have 19999500 bytes"), "{bytes}: {message}");
}
