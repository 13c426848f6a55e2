//! JMeter's XML log, versions 1.0 (JMeter 1.x) to 1.2; a truncated file is read as far as possible.
//!
//! A sample inside a sample is a redirect or an embedded resource, not a request of its own. Exception: the outer sample is a
//! Transaction Controller with `Generate parent sample`; then the inner samples are the requests.

use std::borrow::Cow;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event as Xml};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::jtl::{Threads, is_controller, outcome, settle};
use super::number::{date_time, whole};
use super::{Content, Reader};
use crate::error::Error;
use crate::labels::Labels;

pub(super) static READER: Reader =
    Reader { name: "jtl-xml", sniff: |head| head.starts_with("<") && head.contains("<testResults"), read };

const MS: Nanos = Nanos::from_millis(1);

fn read(content: Content, options: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    intake.recording.resolution = MS;
    let mut log = Log { threads: Threads::default(), hosts: Labels::default(), controllers: 0, open: Vec::new() };
    let mut xml = quick_xml::Reader::from_reader(content);
    // The file may be truncated, so end tags are counted here instead of checked by the parser.
    xml.config_mut().check_end_names = false;
    let mut buffer = Vec::new();
    let mut ended = false;
    loop {
        buffer.clear();
        let at = xml.buffer_position();
        match xml.read_event_into(&mut buffer) {
            // The end, or a truncated tag; `ended` distinguishes them.
            Ok(Xml::Eof) | Err(quick_xml::Error::Syntax(_)) => break,
            Ok(Xml::Start(tag)) => {
                let kind = log.tag(&tag, at, intake);
                log.open.push(kind);
            }
            Ok(Xml::Empty(tag)) => {
                log.tag(&tag, at, intake);
            }
            Ok(Xml::End(tag)) => {
                log.open.pop();
                ended |= tag.name().as_ref() == "testResults";
            }
            Ok(_) => {}
            Err(error) => {
                intake.bad(format_args!("byte {at}"), &error.to_string());
                break;
            }
        }
    }
    if !ended {
        intake.cut();
    }
    settle(intake, options.stamps, log.controllers)
}

/// The type of an open tag.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Launch,
    Controller,
    Other,
}

struct Log {
    threads: Threads,
    hosts: Labels,
    controllers: u64,
    open: Vec<Kind>,
}

impl Log {
    fn tag(&mut self, tag: &BytesStart, at: u64, intake: &mut Intake) -> Kind {
        let name = tag.name();
        let is_sample = matches!(name.as_ref(), "httpSample" | "sample" | "sampleResult");
        if !is_sample || self.open.contains(&Kind::Launch) {
            return Kind::Other;
        }
        match self.sample(tag, intake) {
            Ok(kind) => {
                intake.understood();
                kind
            }
            Err(why) => {
                intake.bad(format_args!("byte {at}"), &why);
                Kind::Other
            }
        }
    }

    fn sample(&mut self, tag: &BytesStart, intake: &mut Intake) -> Result<Kind, Bad> {
        let mut stamp = None;
        let mut elapsed = None;
        let mut event = Event::at(Instant::ZERO);
        let mut success = true;
        let mut first_byte = None;
        let (mut label, mut code, mut message) = (Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed(""));
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|why| why.to_string())?;
            let text = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|why| why.to_string())?;
            let bytes = text.as_bytes();
            match attribute.key.as_ref() {
                "ts" | "timeStamp" => {
                    stamp = whole(bytes).map(|ms| Instant::ZERO + MS * ms).or_else(|| Some(date_time(bytes)?.0));
                }
                "t" | "time" => elapsed = whole(bytes),
                "lt" => first_byte = whole(bytes),
                "s" | "success" => success = text != "false",
                "lb" | "label" => label = text,
                "rc" | "responseCode" => code = text,
                "rm" | "responseMessage" => message = text,
                "tn" | "threadName" => event.session = self.threads.session(bytes),
                "by" => event.bytes_in = whole(bytes).unwrap_or(0),
                "sby" => event.bytes_out = whole(bytes).unwrap_or(0),
                "hn" => event.worker = self.hosts.number(bytes),
                _ => {}
            }
        }
        if is_controller(message.as_bytes()) {
            self.controllers += 1;
            return Ok(Kind::Controller);
        }
        let start = stamp.ok_or("a sample without a timestamp (ts) in ms")?;
        let done = start + MS * elapsed.ok_or("a sample without an elapsed time (t) in ms")?;
        (event.intended, event.sent, event.done) = (start, Some(start), Some(done));
        event.first_byte =
            first_byte.filter(|&ms| ms > 0 || success).map(|ms| start + MS * ms).filter(|&at| at <= done);
        (event.outcome, event.status) = outcome(success, code.as_bytes());
        if event.outcome != Outcome::Ok {
            event.error = Some(if message.is_empty() { code } else { message }.into());
        }
        intake.add(label.as_bytes(), event);
        Ok(Kind::Launch)
    }
}
