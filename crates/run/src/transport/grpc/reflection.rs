//! Fetching descriptors from the server by gRPC reflection (grpc.reflection.v1 and v1alpha), before the run.

use std::collections::{HashSet, VecDeque};

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;

use super::{framed, messages, status};
use crate::message::{MAX_BODY_BYTES, OutgoingRequest, Response};

/// The two names of the reflection service.
const SERVICES: [&str; 2] = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];
/// Maximum number of files, in case a server keeps naming new ones.
const MOST_FILES: usize = 10_000;

#[derive(Clone, PartialEq, Message)]
struct Question {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "7")]
    error: Option<Refusal>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Refusal {
    #[prost(string, tag = "2")]
    message: String,
}

/// The descriptors of `services` and of everything they depend on.
///
/// # Errors
/// The server does not provide them, or they are inconsistent.
pub(super) fn pool<'a>(
    outgoing: impl Fn(&OutgoingRequest) -> Result<Box<Response>, String>,
    services: impl Iterator<Item = &'a str>,
) -> Result<DescriptorPool, String> {
    let symbol = |name: &str| Question { file_containing_symbol: Some(name.to_owned()), ..Question::default() };
    let mut questions: VecDeque<Question> = services.map(symbol).collect();
    let (mut files, mut known): (Vec<FileDescriptorProto>, HashSet<String>) = Default::default();
    while let Some(question) = questions.pop_front() {
        if question.file_by_filename.as_ref().is_some_and(|name| known.contains(name)) {
            continue;
        }
        let found = answer(&outgoing, &question)?;
        for file in found {
            let file =
                FileDescriptorProto::decode(file.as_slice()).map_err(|reason| format!("reflection: {reason}"))?;
            if known.insert(file.name().to_owned()) {
                let needed = file
                    .dependency
                    .iter()
                    .map(|name| Question { file_by_filename: Some(name.clone()), ..Question::default() });
                questions.extend(needed);
                files.push(file);
            }
        }
        if files.len() > MOST_FILES {
            return Err(format!("reflection: the server names more than {MOST_FILES} files"));
        }
    }
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_protos(files).map_err(|reason| format!("reflection: {reason}"))?;
    Ok(pool)
}

/// The files in the response to a question.
fn answer(
    outgoing: impl Fn(&OutgoingRequest) -> Result<Box<Response>, String>,
    question: &Question,
) -> Result<Vec<Vec<u8>>, String> {
    let mut refused = String::new();
    for service in SERVICES {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let response = outgoing(&OutgoingRequest {
            method: "POST".to_owned(),
            path: format!("/{service}/ServerReflectionInfo"),
            headers: vec![header("content-type", "application/grpc"), header("te", "trailers")],
            body: Some(framed(question)),
            body_limit: MAX_BODY_BYTES,
            ..OutgoingRequest::default()
        });
        let response = response.map_err(|reason| format!("reflection: {reason}"))?;
        let answer = messages(&response.body).next().and_then(|message| Answer::decode(message.ok()?).ok());
        match answer {
            Some(Answer { files: Some(files), .. }) => return Ok(files.files),
            Some(Answer { error: Some(error), .. }) => return Err(format!("reflection: {}", error.message)),
            _ => refused = status(&response, None).err().map(|(_, reason)| format!(" ({reason})")).unwrap_or_default(),
        }
    }
    Err(format!("the server does not support reflection{refused}; set target.descriptors = \"file.binpb\""))
}
