//! Documents: JSON objects that begin with the name and version of their schema.
//!
//! # Example
//! ```
//! use offered_events::document::{Document, Schema};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Count {
//!     schema: Schema<Count>,
//!     requests: u64,
//! }
//!
//! impl Document for Count {
//!     const SCHEMA: &'static str = "offered.count/1";
//! }
//!
//! let count = Count { schema: Schema::new(), requests: 3 };
//! let text = serde_json::to_string(&count)?;
//! assert_eq!(text, r#"{"schema":"offered.count/1","requests":3}"#);
//! assert_eq!(serde_json::from_str::<Count>(&text)?, count);
//! let other = serde_json::from_str::<Count>(&text.replace("count/1", "count/2"));
//! assert!(other.unwrap_err().to_string().contains("the schema `offered.count/2`, expected `offered.count/1`"));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::fmt;
use std::marker::PhantomData;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type that is written and read as a JSON document with a schema name and version.
///
/// The version changes when a key is removed or changes its meaning. Keys contain their units; unknown values are `null`.
pub trait Document {
    /// Name and version, such as `offered.verify/1`.
    const SCHEMA: &'static str;
}

/// The schema name of a document of `offered`, from its first bytes; `None` for any other file.
///
/// ```
/// # use offered_events::document::schema;
/// assert_eq!(schema(br#"{ "schema": "offered.verify/1", "sour"#), Some("offered.verify/1"));
/// assert_eq!(schema(br#"{"metrics": {"schema": "offered.verify/1"}"#), None);
/// ```
pub fn schema(head: &[u8]) -> Option<&str> {
    let mut rest = head;
    for token in [&b"{"[..], b"\"schema\"", b":", b"\""] {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().filter(|name| name.starts_with("offered."))
}

/// The first key of the document `D`: it is written as [`Document::SCHEMA`], and any other value is a read error.
pub struct Schema<D>(PhantomData<fn() -> D>);

impl<D> Schema<D> {
    /// The only value of this type.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<D> Default for Schema<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Clone for Schema<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Schema<D> {}

impl<D> PartialEq for Schema<D> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<D> Eq for Schema<D> {}

impl<D: Document> fmt::Debug for Schema<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(D::SCHEMA)
    }
}

impl<D: Document> Serialize for Schema<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(D::SCHEMA)
    }
}

impl<'de, D: Document> Deserialize<'de> for Schema<D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        match String::deserialize(deserializer)? {
            said if said == D::SCHEMA => Ok(Self::new()),
            said => Err(R::Error::custom(format!("the document has the schema `{said}`, expected `{}`", D::SCHEMA))),
        }
    }
}

#[cfg(feature = "schema")]
impl<D: Document> schemars::JsonSchema for Schema<D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        D::SCHEMA.into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "const": D::SCHEMA })
    }
}
