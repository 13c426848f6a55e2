//! Keys of `[[request]]` and `[variables]`.

use super::Kind::{self, Any, Boolean, Choice, File, Form, List, Named, Number, Only, Template, Text, Time, Whole};
use super::retry::{BREAKER_KEY, PATIENCE, RETRY_KEY};
use super::target::{AUTH, HEADERS, REDIRECTS};
use super::{ANY_FOUND, Key, MAX_WHOLE, Shape, key, shape};
use crate::StreamFormat;
use crate::script::{AtEnd, OnFailure, Order, Per, TraceColumn, Unit, When};

/// Requests.
pub(crate) static REQUEST: Shape = shape(
    "A request.",
    &[
        key("name", Text, "Name in results. Default: the path without its query."),
        key(
            "target",
            Text,
            "With several targets: the name of its target. Default: the first, or that of a whole URL.",
        ),
        key("method", Text, "HTTP method; requires path. Shorter: get = \"/path\", post = ..."),
        key("path", Template, "With method: the path."),
        key(
            "catalogue",
            File,
            "CSV file of many paths, one drawn for each request: columns path, weight, service and class. Makes one request per class.",
        ),
        key("grpc", Form("^[\\w.]+/\\w+$"), "gRPC call as service/method; the body is the message in JSON."),
        key("websocket", Kind::Table(&WEBSOCKET), "A message on a WebSocket connection."),
        key("weight", Number(0.0), "Relative frequency. Default 1."),
        HEADERS,
        key(
            "service",
            Kind::Distribution,
            "Distribution of its service demand at the modelled server. Default: server.service.",
        ),
        key("body", Template, "The body."),
        key("body_file", File, "File with the body, a template."),
        key("raw", Boolean, "With body_file: send it unchanged, not as a template. Default false."),
        key("form", Named(&Template), "URL-encoded form, such as { a = \"1\" }."),
        key("multipart", List(&Kind::Table(&PART)), "Parts of a multipart form."),
        key(
            "submit",
            Any(&[Text, Kind::Table(&SUBMIT)]),
            "Submit a form of an earlier page as it was served: CSS selector of the form or of its button.",
        ),
        key("auth", Any(&[Kind::Table(&AUTH), Only(false)]), "Overrides target.auth; false: none."),
        key(
            "extract",
            List(&Kind::Table(&EXTRACT)),
            "Values to extract from the response for later requests of the session.",
        ),
        key(
            "metric",
            Any(&[Kind::Table(&METRIC), List(&Kind::Table(&METRIC))]),
            "Numbers in the response to report as results, such as a number of rows.",
        ),
        key("check", List(&Kind::Table(&CHECK)), "Checks of the response; a failure makes the outcome check_failed."),
        key(
            "on_failure",
            Choice(OnFailure::NAMES),
            "If the outcome is not ok: continue (default), end the session, or stop the run with exit code 99.",
        ),
        key(
            "timeout",
            Time,
            "Time limit of an attempt, from sending to the last byte. Default: target.response_timeout.",
        ),
        RETRY_KEY,
        BREAKER_KEY,
        PATIENCE,
        REDIRECTS,
        key(
            "stream",
            Any(&[Choice(StreamFormat::NAMES), Kind::Table(&STREAM)]),
            "The response is a stream: of server-sent events (sse), or of a language model (openai).",
        ),
        key("objects", List(&Template), "Paths of embedded objects to fetch, as a browser does."),
        key("connections", Whole(1, 64), "Maximum number of connections for objects. Default 6."),
        key(
            "objects_when",
            Choice(When::NAMES),
            "Fetch objects after a successful response (default), or while it arrives.",
        ),
        key("objects_may_fail", Boolean, "The request is ok even if an object fails. Default false."),
        key("get", Template, "Path; the key is the method."),
        key("post", Template, "Path; the key is the method."),
        key("put", Template, "Path; the key is the method."),
        key("delete", Template, "Path; the key is the method."),
        key("head", Template, "Path; the key is the method."),
        key("patch", Template, "Path; the key is the method."),
        key("options", Template, "Path; the key is the method."),
        key("sql", Text, "Database: a statement, prepared on every connection before the run."),
        key("transaction", List(&STATEMENTS), "Database: statements of one transaction."),
        PARAMETERS,
        key("class", Text, "Database: name of the pool in target.pools. Catalogue: only paths of this class."),
    ],
);

static STATEMENTS: Kind = Any(&[Text, Kind::Table(&STATEMENT)]);
static PARAMETER: Kind = Any(&[Template, Number(f64::NEG_INFINITY), Boolean, Kind::Table(&NULL)]);
const PARAMETERS: Key = key("parameters", List(&PARAMETER), "Values of $1, $2, ... in the statement.");

pub(crate) static STATEMENT: Shape =
    shape("A statement of a transaction.", &[key("sql", Text, "The statement."), PARAMETERS]).needs(&["sql"]);

pub(crate) static NULL: Shape = shape("A NULL parameter.", &[key("null", Only(true), "NULL.")]).needs(&["null"]);

pub(crate) static WEBSOCKET: Shape = shape(
    "A message on a WebSocket connection.",
    &[
        key("send", Template, "Text message to send. Default: none."),
        key("send_hex", Template, "Binary message to send, in hexadecimal, such as 01 ff."),
        key("await", Template, "Regular expression of the expected message. Default: the next message."),
        key("count", Whole(1, u32::MAX as u64), "Number of expected messages. Default 1."),
        key(
            "listen",
            Time,
            "Listen for this time, or until count messages have arrived. Default: only response_timeout limits the time.",
        ),
    ],
);

pub(crate) static SUBMIT: Shape = shape(
    "A form of an earlier page, submitted as it was served.",
    &[
        key("form", Text, "CSS selector of the form, which is then submitted with its first button, or of the button."),
        key(
            "page",
            Text,
            "Name of the request whose response has the form. Default: the previous request in the flow.",
        ),
        key(
            "fields",
            Named(&FIELD),
            "New values of fields of the form; true includes a field or checks it, false leaves it out.",
        ),
        key("add", Named(&FIELD), "Fields that the form does not have, such as those that scripts of the page add."),
    ],
)
.needs(&["form"]);

static FIELD: Kind = Any(&[Template, Number(f64::NEG_INFINITY), Boolean, List(&FIELD_ITEM), Kind::Table(&FIELD_FILE)]);
static FIELD_ITEM: Kind = Any(&[Template, Number(f64::NEG_INFINITY)]);

const UPLOAD: Key = key("file", File, "File to upload.");
const MEDIA_TYPE: Key = key("type", Text, "Media type, such as image/png.");
const RAW: Key = key("raw", Boolean, "Send the file unchanged, not as a template. Default true.");

pub(crate) static FIELD_FILE: Shape =
    shape("A file that is chosen in a field.", &[UPLOAD, MEDIA_TYPE, RAW]).needs(&["file"]);

pub(crate) static STREAM: Shape = shape(
    "A streamed response.",
    &[
        key("format", Choice(StreamFormat::NAMES), "Format of the events: sse, or openai."),
        key("end", Text, "With sse: data of the last event, such as [DONE]. Default: the end of the response."),
        key("await", Text, "With sse: regular expression that finds the last event by its data."),
        key("count", Whole(1, u32::MAX as u64), "With sse: end the request after this number of events."),
        key("listen", Time, "With sse: end the request after this time."),
        key("min_tokens", Whole(0, u32::MAX as u64), "With openai: a response of fewer tokens has the outcome short."),
    ],
)
.needs(&["format"]);

pub(crate) static PART: Shape = shape(
    "A part of a multipart form.",
    &[key("name", Text, "Name of the field."), key("value", Template, "Text value."), UPLOAD, MEDIA_TYPE, RAW],
)
.needs(&["name"])
.one_of(&["value", "file"]);

const JSON: Key = key("json", Text, "JSONPath (RFC 9535), such as $.token.");
const REGEX: Key = key(
    "regex",
    Text,
    "Regular expression, applied to the body, or to the text that another part of this table finds.",
);
const GROUP: Key = key("group", Whole(0, MAX_WHOLE), "With regex: number of the group. Default 1.");
const HEADER: Key = key("header", Text, "Header name.");
const CSS: Key = key("css", Text, "CSS selector, such as input[name=csrf].");
const COOKIE: Key = key("cookie", Text, "Name of a cookie that the response sets.");
const URL: Key = key("url", Only(true), "The URL of the response, after redirects.");
const COLUMN: Key = key("column", Text, "Database: column name.");
const ATTRIBUTE: Key = key("attribute", Text, "With css: attribute name. Default: the text of the element.");

pub(crate) static EXTRACT: Shape = shape(
    "A value to extract from a response.",
    &[
        key("name", Form("^\\w+$"), "Name of the variable in templates."),
        JSON,
        REGEX,
        GROUP,
        HEADER,
        CSS,
        ATTRIBUTE,
        COLUMN,
        COOKIE,
        URL,
        key(
            "nth",
            Any(&[Whole(1, MAX_WHOLE), Choice(&ANY_FOUND)]),
            "Number of the match, \"last\" or \"random\". Default 1.",
        ),
        key("join", Text, "Take all matches, joined by this text."),
        key("count", Only(true), "Take the number of matches."),
        key("default", Text, "Value if nothing matches."),
        key("keep", Boolean, "If nothing matches, keep the previous value."),
    ],
)
.needs(&["name"])
.some_of(&EXTRACTED);

pub(crate) static METRIC: Shape = shape(
    "A number in a response to report as a result.",
    &[
        key("name", Form("^\\w+$"), "Name of the metric, and of the variable in templates."),
        JSON,
        REGEX,
        GROUP,
        HEADER,
        CSS,
        ATTRIBUTE,
        COLUMN,
        COOKIE,
        URL,
        key(
            "nth",
            Any(&[Whole(1, MAX_WHOLE), Choice(&ANY_FOUND)]),
            "Number of the match, \"last\" or \"random\". Default 1.",
        ),
        key("count", Only(true), "Take the number of matches."),
    ],
)
.needs(&["name"])
.some_of(&EXTRACTED);

/// The parts of a response that can be extracted. `regex` can be combined with those of [`SEARCHED`].
pub(crate) static EXTRACTED: [&str; 7] = ["json", "regex", "header", "css", "column", "cookie", "url"];
/// The parts of a response that can be searched by `regex`; without one of them it searches the body.
pub(crate) static SEARCHED: [&str; 6] = ["json", "header", "css", "column", "cookie", "url"];
/// What a check examines, likewise.
pub(crate) static CHECKED: [&str; 13] =
    ["status", "header", "body", "json", "regex", "css", "column", "cookie", "url", "size", "rows", "time", "sha256"];

pub(crate) static CHECK: Shape = shape(
    "A check of a response.",
    &[
        key("name", Text, "Name in results. Default: the check itself."),
        GROUP,
        ATTRIBUTE,
        key("is", Template, "Expected value."),
        key("contains", Template, "Expected substring."),
        key("matches", Text, "Expected regular expression."),
        key("count", Any(&[Text, Whole(0, u64::MAX)]), "Expected number of matches, 3 or \">= 1\"."),
        key("not", Boolean, "Negate the check. Default false."),
        key("status", Any(&[STATUS, List(&STATUS)]), "200, [200, 302], \"2xx\" or \"200..299\"."),
        HEADER,
        key("body", Only(true), "Check the decoded body; with is, contains or matches."),
        JSON,
        REGEX,
        CSS,
        COLUMN,
        COOKIE,
        URL,
        key("time", Text, "Service time, from sending to the last byte: \"< 500ms\"."),
        key(
            "size",
            Any(&[Text, Whole(0, u64::MAX)]),
            "Body size in bytes, before decoding: \"< 100000\" or \"100..2000\".",
        ),
        key("rows", Any(&[Text, Whole(0, u64::MAX)]), "Database: number of rows returned or changed, 1 or \">= 1\"."),
        key("sha256", Form("^[0-9A-Fa-f]{64}$"), "SHA-256 of the decoded body."),
    ],
)
.some_of(&CHECKED);

pub(super) const STATUS: Kind = Any(&[Whole(100, 999), Form("^([1-9]xx|[1-9]\\d\\d(\\.\\.[1-9]\\d\\d)?)$")]);

/// A variable: a constant, or the source of its values.
pub(crate) static VARIABLE: Kind =
    Any(&[Template, Number(f64::NEG_INFINITY), Boolean, List(&ITEM), Kind::Table(&VALUES)]);
static ITEM: Kind = Any(&[Text, Number(f64::NEG_INFINITY), Boolean]);

pub(crate) static VALUES: Shape = shape(
    "Source of the values of a variable.",
    &[
        key("env", Text, "Environment variable; an error before the run if it is not set."),
        key(
            "file",
            Form("^.+\\.([cC][sS][vV]|[jJ][sS][oO][nN][lL])(\\.gz)?$"),
            "File with rows: .csv or .jsonl, also .gz.",
        ),
        key("uuid", Only(true), "A random UUID."),
        key("sequence", Whole(0, u64::MAX), "Consecutive numbers from this one, over the whole run."),
        key("random", NUMBERS, "Distribution of plain numbers: uniform:1..100, exponential:5, lognormal:20,2."),
        key(
            "work",
            Choice(Unit::NAMES),
            "Service demand of the request at the modelled [server], in ms or s, as a simulation draws it.",
        ),
        key(
            "prompt",
            PROMPT,
            "Random text: the distribution of its number of tokens, such as lognormal:600,1; or \"trace\": the number in the entry of the replayed trace.",
        ),
        key(
            "trace_value",
            Choice(TraceColumn::NAMES),
            "A number of the entry of the replayed trace: tokens of the prompt or of the response, at least 1.",
        ),
        key(
            "conversation",
            Text,
            "Messages of a chat as a JSON list: the earlier messages of the session with their responses, and the value of the variable with this name.",
        ),
        key("prefix", Kind::Table(&PREFIX), "With prompt: a prefix that the prompts of a group share."),
        key("corpus", File, "With prompt: text file from which prompts are taken. Default: common English words."),
        key("words_per_token", Number(0.0), "With prompt or trace_value: number of words in a token. Default 1."),
        key(
            "overhead_tokens",
            Whole(0, MAX_WHOLE),
            "With prompt: number of tokens that the server adds, such as a chat template. Default 0.",
        ),
        key(
            "per",
            Choice(Per::NAMES),
            "Scope of a value. Default: session; for sequence, work, prompt, trace_value and conversation: request.",
        ),
        key("order", Choice(Order::NAMES), "With file: order of rows. Default sequential: session n takes row n; shuffled: each row once, in a random order."),
        key(
            "at_end",
            Choice(AtEnd::NAMES),
            "With file, after the last row: start again (default), stop the run, or stop it with exit code 1.",
        ),
        key("columns", List(&Text), "With file: names of the columns. Default: the first row."),
        key("separator", Form("^[ !#-~\\t]$"), "With a CSV file: the character between two values. Default \",\"."),
        key("quotes", Boolean, "With a CSV file: whether values may be quoted. Default true."),
        key("skip_lines", Whole(0, MAX_WHOLE), "With a CSV file: number of lines to skip at its start. Default 0."),
        key(
            "ragged",
            Boolean,
            "With a CSV file: whether rows may have missing values (read as empty) or extra values (ignored). Default false.",
        ),
        key("decimals", Whole(0, 9), "With random: number of decimals. Default 0."),
        key("min", Number(f64::NEG_INFINITY), "With random: smallest value; smaller numbers are replaced by it. Default: none."),
    ],
)
.one_of(&["env", "file", "uuid", "sequence", "random", "prompt", "trace_value", "conversation", "work"]);

const NUMBERS: Kind = Form("^\\s*[a-z]+\\s*:.+$");
const PROMPT: Kind = Form("^(\\s*[a-z]+\\s*:.+|trace)$");

pub(crate) static PREFIX: Shape = shape(
    "A shared beginning of prompts.",
    &[
        key("tokens", Whole(1, MAX_WHOLE), "Its number of tokens."),
        key("groups", Whole(1, MAX_WHOLE), "Number of different beginnings, chosen with equal probability. Default 1."),
    ],
)
.needs(&["tokens"]);
