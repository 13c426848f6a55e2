//! Request bodies.

use bytes::Bytes;
use offered_workload::script::{self, Content};
use offered_workload::template::{Format, in_form};

use super::value::{MissingValue, Text, Values};
use super::{RequestContext, SessionState};

/// Separates the parts of a multipart body. A file that contains it is rejected before the run.
const BOUNDARY: &str = "----offered-5d2c7f0e9a4b41f3-boundary";

/// The body of a request.
#[derive(Debug)]
pub(super) enum Body {
    None,
    Text(Text),
    /// Constant bytes, shared by all requests.
    Constant {
        bytes: Bytes,
        is_multipart: bool,
    },
    Form(Vec<(String, Text)>),
    Multipart(Vec<Part>),
}

/// One part of a multipart body.
#[derive(Debug)]
pub(super) struct Part {
    head: String,
    file_name: String,
    content: Content<Text>,
}

impl Body {
    /// Compiles a body of the workload, in this format.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn new(body: &script::Body, format: Format, values: &Values) -> Result<Self, String> {
        Ok(match body {
            script::Body::None => Self::None,
            script::Body::Text(text) => Self::Text(values.text_of(text, format)),
            script::Body::File { file, content, .. } => {
                match content.as_ref().map_err(|reason| format!("cannot read {file}: {reason}"))? {
                    Content::Text(text) => Self::Text(values.text_of(text, format)),
                    Content::Raw(bytes) => {
                        Self::Constant { bytes: Bytes::from_owner(bytes.clone()), is_multipart: false }
                    }
                }
            }
            script::Body::Form(fields) => {
                Self::Form(fields.iter().map(|(name, value)| (in_form(name), values.form(value))).collect())
            }
            script::Body::Multipart(parts) => {
                let parts = parts.iter().map(|part| Part::new(part, values)).collect::<Result<Vec<_>, _>>()?;
                let constant = |part: &Part| match &part.content {
                    Content::Text(text) => text.constant().map(|text| Bytes::copy_from_slice(text.as_bytes())),
                    Content::Raw(bytes) => Some(Bytes::from_owner(bytes.clone())),
                };
                match parts.iter().map(constant).collect::<Option<Vec<Bytes>>>() {
                    Some(contents) => {
                        let mut bytes = Vec::new();
                        parts.iter().zip(&contents).for_each(|(part, content)| part.append(content, &mut bytes));
                        end_multipart(&mut bytes);
                        Self::Constant { bytes: bytes.into(), is_multipart: true }
                    }
                    None => Self::Multipart(parts),
                }
            }
        })
    }

    /// The `Content-Type`, where the workload does not set one.
    pub(super) fn media_type(&self) -> Option<String> {
        match self {
            Self::Form(_) => Some("application/x-www-form-urlencoded".to_owned()),
            Self::Multipart(_) | Self::Constant { is_multipart: true, .. } => Some(multipart_type()),
            _ => None,
        }
    }

    /// The intended number of tokens of the prompts in the body; `None` without one.
    pub(super) fn prompt_tokens(
        &self,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Option<u64> {
        match self {
            Self::Text(text) => values.prompt_tokens(text, context, state),
            _ => None,
        }
    }

    /// The numbers of the variables in it that are conversations.
    pub(super) fn conversations(&self, values: &Values) -> Vec<u16> {
        match self {
            Self::Text(text) => values.conversations(text),
            _ => Vec::new(),
        }
    }

    /// Renders the body; `None` for a request without a body.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn bytes(
        &self,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<Option<Bytes>, MissingValue> {
        let bytes = match self {
            Self::None => return Ok(None),
            Self::Text(text) => values.plain(text, context, state)?.into_bytes(),
            Self::Constant { bytes, .. } => return Ok(Some(bytes.clone())),
            Self::Form(fields) => {
                let mut form = String::new();
                for (name, value) in fields {
                    if !form.is_empty() {
                        form.push('&');
                    }
                    form.push_str(name);
                    form.push('=');
                    form.push_str(&values.plain(value, context, state)?);
                }
                form.into_bytes()
            }
            Self::Multipart(parts) => {
                let mut bytes = Vec::new();
                parts.iter().try_for_each(|part| part.append_rendered(values, context, state, &mut bytes))?;
                end_multipart(&mut bytes);
                bytes
            }
        };
        Ok(Some(bytes.into()))
    }
}

/// The `Content-Type` of a multipart body.
pub(super) fn multipart_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// Appends a part with this text.
pub(super) fn append_text(name: &[u8], value: &[u8], bytes: &mut Vec<u8>) {
    append_head(name, b"\r\n\r\n", bytes);
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

/// Appends the part of a file field in which no file is chosen.
pub(super) fn append_no_file(name: &[u8], bytes: &mut Vec<u8>) {
    append_head(name, b"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n", bytes);
}

/// Appends the head of a part up to its name, and `rest`. Names are escaped as in browsers (WHATWG HTML, section 4.10.22.7).
fn append_head(name: &[u8], rest: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"").as_bytes());
    for byte in name {
        match byte {
            b'"' => bytes.extend_from_slice(b"%22"),
            b'\r' => bytes.extend_from_slice(b"%0D"),
            b'\n' => bytes.extend_from_slice(b"%0A"),
            other => bytes.push(*other),
        }
    }
    bytes.push(b'"');
    bytes.extend_from_slice(rest);
}

/// Appends the last boundary.
pub(super) fn end_multipart(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
}

impl Part {
    /// Appends the part with this content.
    fn append(&self, content: &[u8], bytes: &mut Vec<u8>) {
        for piece in [self.head.as_bytes(), content, b"\r\n"] {
            bytes.extend_from_slice(piece);
        }
    }

    /// Appends the part with its content at this request.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn append_rendered(
        &self,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), MissingValue> {
        match &self.content {
            Content::Text(text) => self.append(values.plain(text, context, state)?.as_bytes(), bytes),
            Content::Raw(raw) => self.append(raw, bytes),
        }
        Ok(())
    }

    /// The name that a file is sent under; empty for a text.
    pub(super) fn file_name(&self) -> &str {
        &self.file_name
    }

    /// Compiles a part of the workload.
    ///
    /// # Errors
    /// A file that cannot be read, or that contains the boundary.
    pub(super) fn new(part: &script::Part, values: &Values) -> Result<Self, String> {
        let mut head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"", part.name);
        if let Some(name) = part.file_name() {
            head += &format!("; filename=\"{name}\"");
        }
        head += "\r\n";
        if let Some(kind) = part.media_type.as_deref().or_else(|| part.file_name().map(|_| "application/octet-stream"))
        {
            head += &format!("Content-Type: {kind}\r\n");
        }
        head += "\r\n";
        let file = part.file_name().unwrap_or_default();
        let content = match part.content.as_ref().map_err(|reason| format!("cannot read {file}: {reason}"))? {
            Content::Text(text) => {
                let media_type = part.media_type.as_deref().unwrap_or("text/plain");
                Content::Text(values.text_of(text, Format::of(Some(media_type), text)))
            }
            Content::Raw(bytes) if bytes.windows(BOUNDARY.len()).any(|piece| piece == BOUNDARY.as_bytes()) => {
                return Err(format!(
                    "{file} contains `{BOUNDARY}`, the separator of multipart bodies; send another file"
                ));
            }
            Content::Raw(bytes) => Content::Raw(bytes.clone()),
        };
        Ok(Self { head, file_name: file.to_owned(), content })
    }
}
