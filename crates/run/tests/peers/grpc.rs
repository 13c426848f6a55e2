//! gRPC: the trailers decide about the outcome.

use std::io;
use std::net::TcpStream;

use prost_reflect::prost::Message;
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto, field_descriptor_proto::Type,
};

use crate::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, Peer, STATUS_200};

/// A service `Desk` of package `shop` with one method: `Order` takes and returns an `Item`, which has a `name`.
pub(crate) fn descriptors() -> Vec<u8> {
    let text = |text: &str| Some(text.to_owned());
    let name = FieldDescriptorProto {
        name: text("name"),
        number: Some(1),
        r#type: Some(Type::String.into()),
        ..FieldDescriptorProto::default()
    };
    let item = DescriptorProto { name: text("Item"), field: vec![name], ..DescriptorProto::default() };
    let order = MethodDescriptorProto {
        name: text("Order"),
        input_type: text(".shop.Item"),
        output_type: text(".shop.Item"),
        ..MethodDescriptorProto::default()
    };
    let desk = ServiceDescriptorProto { name: text("Desk"), method: vec![order], ..ServiceDescriptorProto::default() };
    let file = FileDescriptorProto {
        name: text("shop.proto"),
        package: text("shop"),
        message_type: vec![item],
        service: vec![desk],
        syntax: text("proto3"),
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

/// A literal header in HPACK.
fn header(name: &str, value: &str) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// The response to each call: the bytes of the body, and the trailers.
pub(crate) type Said = (&'static [u8], &'static [(&'static str, &'static str)]);

/// An `Item` named `tea`, as a message.
pub(crate) const TEA: &[u8] = &[0, 0, 0, 0, 5, 0x0a, 3, b't', b'e', b'a'];

pub(crate) fn serve(stream: TcpStream, (body, trailers): Said) -> io::Result<()> {
    let mut peer = Peer::greet(stream, &[])?;
    loop {
        let frame = peer.next()?;
        if frame.kind == DATA {
            assert_eq!(frame.payload, TEA);
        }
        if frame.flags & END_STREAM == 0 {
            continue;
        }
        let head = [STATUS_200, &header("content-type", "application/grpc")].concat();
        peer.send(HEADERS, END_HEADERS, frame.stream, &head)?;
        peer.send(DATA, 0, frame.stream, body)?;
        let trailers: Vec<u8> = trailers.iter().flat_map(|(name, value)| header(name, value)).collect();
        peer.send(HEADERS, END_STREAM | END_HEADERS, frame.stream, &trailers)?;
    }
}
