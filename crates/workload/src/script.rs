//! Scripts: variables, bodies, authentication, extractions from responses, and checks of responses.

use std::sync::Arc;

use crate::prompt::Prompt;
use crate::template::Template;
use crate::threshold::Bound;
use offered_base::InvalidValue;
use offered_base::time::Nanos;
pub use offered_schedule::flow::OnFailure;
use offered_schedule::trace::TokenEntry;

pub use crate::auth::{Auth, AwsAuth};
pub use crate::draw::{Draw, data};
pub use crate::oauth2::{ClientAuth, Grant, OAuth2, TokenScope};

/// A variable that templates may use by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name, unique among the variables.
    pub name: String,
    /// The source of its values.
    pub source: Source,
    /// When it takes a new value.
    pub per: Per,
    /// The environment variable that it was read from; `None`: another source.
    pub env: Option<String>,
}

/// The source of the values of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The same value for all sessions, or the reason why it is missing (an environment variable that is not set).
    Constant(Result<String, String>),
    /// A text with placeholders, filled in at each use.
    Composed(Template),
    /// The rows of a file.
    Feeder(Feeder),
    /// A random UUID (version 4).
    Uuid,
    /// Consecutive numbers from this one over the whole run.
    Sequence(u64),
    /// Numbers drawn from a distribution.
    Random(Draw),
    /// Texts of a drawn number of tokens.
    Prompt(Prompt),
    /// A number of the entry of the replayed trace.
    TraceValue(TraceValue),
    /// The messages of a chat as a JSON list: the earlier messages of the session with the responses, and the value of
    /// this variable.
    Conversation(String),
    /// The work of the request in this unit, as a simulation of the workload draws it.
    Work(Unit),
}

/// A number that the entries of a trace of a language model service have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceValue {
    /// The selected number.
    pub column: TraceColumn,
    /// Number of words in a token, above zero; for a trace with texts.
    pub words_per_token: f64,
}

impl TraceValue {
    /// The number of `entry`, at least 1.
    pub fn of(self, entry: TokenEntry<'_>) -> u32 {
        match self.column {
            TraceColumn::Input => entry.input_tokens(self.words_per_token),
            TraceColumn::Output => entry.output_tokens(self.words_per_token),
        }
    }
}

offered_base::named! {
    /// A number that the entries of a trace have.
    pub enum TraceColumn {
        /// Tokens of the prompt.
        Input = "input_tokens",
        /// Tokens of the response.
        Output = "output_tokens",
    }
}

offered_base::named! {
    /// The unit of work.
    pub enum Unit {
        /// Milliseconds.
        Millis = "ms",
        /// Seconds.
        Seconds = "s",
    }
}

impl Unit {
    /// The text of `work` in this unit, exact to the nanosecond.
    pub fn text(self, work: Nanos) -> String {
        let (unit, digits) = match self {
            Self::Millis => (1_000_000, 6),
            Self::Seconds => (1_000_000_000, 9),
        };
        format!("{}.{:0digits$}", work.0 / unit, work.0 % unit)
    }
}

offered_base::named! {
    /// The event at which a variable takes a new value.
    pub enum Per {
        /// Once for each session.
        Session = "session",
        /// Once for each visit: each walk of a closed user through a flow, or once for a session that leaves.
        Visit = "visit",
        /// Once for each request.
        Request = "request",
    }
}

/// A data file that provides one row at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Feeder {
    /// The file name in the workload.
    pub file: String,
    /// The order of the rows.
    pub order: Order,
    /// The behaviour after the last row.
    pub at_end: AtEnd,
    /// The names of its columns; `None`: the file contains them.
    pub columns: Option<Vec<String>>,
    /// The dialect of a CSV file.
    pub format: CsvFormat,
    /// The rows, or the reason why the file cannot be read.
    pub rows: Result<Arc<Rows>, String>,
}

/// The dialect of a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvFormat {
    /// The ASCII character between two values.
    pub separator: u8,
    /// Whether values may be quoted (RFC 4180). `false`: a quote is an ordinary character.
    pub quotes: bool,
    /// Number of lines before the first row, or before the row with the names of the columns.
    pub skip_lines: u64,
    /// Whether rows may have more or fewer values than columns: missing values are empty, additional ones are ignored.
    pub ragged: bool,
}

impl Default for CsvFormat {
    fn default() -> Self {
        Self { separator: b',', quotes: true, skip_lines: 0, ragged: false }
    }
}

offered_base::named! {
    /// The order in which the rows of a file are taken.
    pub enum Order {
        /// In the order of the file. Session n (or request n of the whole run) takes row n, so no row is used twice, on any number of machines.
        /// Visit v of user u takes row v N + u, with N users and numbers from 0.
        Sequential = "sequential",
        /// In a random order that the seed determines: a permutation of the rows of `Sequential`. Every pass through
        /// the file has its own order, and no row is used twice in a pass, on any number of machines.
        Shuffled = "shuffled",
        /// Random rows with equal probabilities, by the seed.
        Random = "random",
    }
}

offered_base::named! {
    /// The behaviour after the last row of a file.
    pub enum AtEnd {
        /// Rows are taken from the start again.
        Repeat = "repeat",
        /// The run stops, and its verdict covers the time until then.
        Stop = "stop",
        /// The run stops and fails.
        Error = "error",
    }
}

/// Texts in rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    columns: Vec<String>,
    /// All cells in one text, and the end of each cell in it.
    text: String,
    ends: Vec<usize>,
}

impl Rows {
    /// A table of rows; each must have one cell per column.
    pub fn new(columns: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for row in rows {
            assert_eq!(row.len(), columns.len(), "a row has one cell per column");
            for cell in row {
                text.push_str(&cell);
                ends.push(text.len());
            }
        }
        Self { columns, text, ends }
    }

    /// The column names; at least one.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of rows; at least one.
    pub fn len(&self) -> u64 {
        (self.ends.len() / self.columns.len()) as u64
    }

    /// Always false, because a file without rows is refused.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text in this row and column, both from 0.
    pub fn cell(&self, row: u64, column: usize) -> &str {
        let at = row as usize * self.columns.len() + column;
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[begin..self.ends[at]]
    }
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// No body.
    #[default]
    None,
    /// A text.
    Text(Template),
    /// A file.
    File {
        /// The file name in the workload.
        file: String,
        /// Whether its bytes are sent unchanged; otherwise it is a template.
        raw: bool,
        /// The content, or the reason why the file cannot be read.
        content: Result<Content, String>,
    },
    /// Names and values, URL-encoded.
    Form(Vec<(String, Template)>),
    /// Parts with their own headers (RFC 7578).
    Multipart(Vec<Part>),
}

impl Body {
    /// The template of a body that is one text.
    pub fn text(&self) -> Option<&Template> {
        match self {
            Self::Text(text) | Self::File { content: Ok(Content::Text(text)), .. } => Some(text),
            _ => None,
        }
    }
}

/// The content of a file. `T` is the type of texts: templates before compilation.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<T = Template> {
    /// A text with placeholders.
    Text(T),
    /// Bytes that are sent unchanged.
    Raw(Arc<[u8]>),
}

/// One part of a multipart body.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// The file name in the workload; `None`: the part is not a file.
    pub file: Option<String>,
    /// Whether a file is sent unchanged; otherwise it is a template.
    pub raw: bool,
    /// The `Content-Type` of the part; `None`: no such header.
    pub media_type: Option<String>,
    /// The content, or the reason why the file cannot be read.
    pub content: Result<Content, String>,
}

impl Part {
    /// The file name that is sent.
    pub fn file_name(&self) -> Option<&str> {
        let file = self.file.as_deref()?;
        Some(file.rsplit_once('/').map_or(file, |(_, base)| base))
    }
}

/// A value extracted from a response, for later requests of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// The name of the variable that gets the value.
    pub name: String,
    /// The part of the response that has the value.
    pub find: Find,
    /// The match that is taken if there are several.
    pub which: Which,
    /// The behaviour without a match.
    pub if_missing: IfMissing,
}

/// The match that is taken if there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The match with this number, from 1.
    Nth(u32),
    /// The last match.
    Last,
    /// A random match with equal probabilities, by the seed.
    Random,
    /// All matches, joined by this text.
    All(String),
    /// The number of matches, which may be 0.
    Count,
}

/// The value of a variable if its extraction has no match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// No value; the check with the name of the variable fails.
    Fail,
    /// A default value.
    Default(String),
    /// The previous value.
    KeepPrevious,
    /// No value, for a metric (a number in responses that is a result).
    NotMeasured,
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Find {
    /// The whole body.
    Body,
    /// The values of a column of a database result that are not null, by column name.
    Column(String),
    /// A header; its name is case-insensitive.
    Header(String),
    /// The value of a cookie that the response sets.
    Cookie(String),
    /// The URL of the response, after redirects.
    Url,
    /// A regular expression, applied to the texts of another part, and the number of its group (0: the whole match).
    Matched {
        /// The other part; not the body.
        of: Box<Find>,
        /// The expression.
        pattern: String,
        /// The group.
        group: u32,
    },
    /// A `JSONPath` (RFC 9535).
    Json(String),
    /// A regular expression, applied to the body, and the number of its group (0: the whole match).
    Regex {
        /// The expression.
        pattern: String,
        /// The group.
        group: u32,
    },
    /// A CSS selector in the body, and an attribute of the selected element (`None`: its text).
    Css {
        /// The selector.
        selector: String,
        /// The attribute.
        attribute: Option<String>,
    },
}

/// A check of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The name in reports of failures.
    pub name: String,
    /// The condition.
    pub test: Test,
    /// Whether the check passes if the condition is false.
    pub negated: bool,
}

/// The condition of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u16, u16)>),
    /// A text of the response.
    Text(Find, TextCondition),
    /// The number of rows that a database returned or changed.
    Rows(Sizes),
    /// The size of the body in bytes, before decoding.
    Size(Sizes),
    /// The service time: from sending to the last byte, redirects included.
    Time(Bound),
    /// The SHA-256 digest of the (decoded) body, 64 lower-case hexadecimal digits.
    Sha256(String),
}

/// The condition for a text.
#[derive(Clone, Debug, PartialEq)]
pub enum TextCondition {
    /// The response has the text.
    There,
    /// The text equals this.
    Is(Template),
    /// The text contains this.
    Contains(Template),
    /// The text matches this regular expression.
    Matches(String),
    /// The number of matches is in this range.
    Count(Sizes),
}

/// A range of sizes in bytes, or of numbers of rows or matches, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest number.
    pub least: u64,
    /// The largest number.
    pub most: u64,
}

impl Sizes {
    /// Whether `number` is in the range.
    pub fn contains(&self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

/// `< 100000`, `>= 1`, `= 512`, `512` or `100..2000`.
impl std::str::FromStr for Sizes {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            InvalidValue::new(format!(
                "`{text}` is not a range of whole numbers; write for example \"< 100000\" or \"100..2000\""
            ))
        };
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let text = text.trim();
        let (least, most) = if let Some((least, most)) = text.split_once("..") {
            (number(least)?, number(most)?)
        } else if let Some(most) = text.strip_prefix("<=") {
            (0, number(most)?)
        } else if let Some(least) = text.strip_prefix(">=") {
            (number(least)?, u64::MAX)
        } else if let Some(most) = text.strip_prefix('<') {
            (0, number(most)?.checked_sub(1).ok_or_else(wrong)?)
        } else if let Some(least) = text.strip_prefix('>') {
            (number(least)?.checked_add(1).ok_or_else(wrong)?, u64::MAX)
        } else {
            let exactly = number(text.strip_prefix('=').unwrap_or(text))?;
            (exactly, exactly)
        };
        if least > most { Err(wrong()) } else { Ok(Self { least, most }) }
    }
}

/// The embedded objects of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    /// The paths; at least one.
    pub paths: Vec<Template>,
    /// Maximum number of parallel connections for the objects.
    pub connections: u8,
    /// When the objects are fetched.
    pub when: When,
    /// Whether the request is successful even if an object fails.
    pub may_fail: bool,
}

impl Objects {
    /// The number of connections that browsers open to one server.
    pub const CONNECTIONS: u8 = 6;
}

offered_base::named! {
    /// When a page's objects are fetched.
    pub enum When {
        /// After the response is complete.
        After = "after",
        /// Objects are fetched as soon as the first bytes of the response arrive.
        While = "while",
    }
}

#[cfg(test)]
mod tests;
