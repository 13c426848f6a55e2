//! Decodes streams of Go's `encoding/gob`, restricted to the types in result files: structs of numbers, strings, bytes
//! and times.
//!
//! A stream is a sequence of messages, each with a length and a type number. A negative number defines the type, a positive one is followed by
//! a value of it. Fields are matched by name, so files of other versions are readable; unknown fields
//! are skipped by type. (<https://pkg.go.dev/encoding/gob>, "Encoding Details".)

use std::collections::HashMap;
use std::io::{self, BufRead};

/// Maximum length of a message in bytes; results of requests are far shorter.
const LONGEST: u64 = 1 << 28;
/// Maximum nesting depth of types; stops recursive types.
const MAX_DEPTH: u32 = 16;

/// Predefined types.
mod known {
    pub(super) const BOOL: i64 = 1;
    pub(super) const INT: i64 = 2;
    pub(super) const UINT: i64 = 3;
    pub(super) const FLOAT: i64 = 4;
    pub(super) const BYTES: i64 = 5;
    pub(super) const STRING: i64 = 6;
    pub(super) const COMPLEX: i64 = 7;
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A string, bytes, or the binary encoding of a Go type (such as a time).
    Bytes(&'a [u8]),
    /// A value of a skipped type.
    Other,
}

#[derive(Clone, Debug)]
enum Type {
    Array(i64),
    Struct(Vec<(String, i64)>),
    Map(i64, i64),
    /// A type with its own binary encoding.
    Opaque,
}

/// Reads the structs of a stream in order.
#[derive(Default)]
pub(super) struct Stream {
    types: HashMap<i64, Type>,
    message: Vec<u8>,
}

type Read<T> = Result<T, &'static str>;

impl Stream {
    /// Reads the next struct and passes each field to `field`; returns `false` at the end of the stream.
    ///
    /// # Errors
    /// `Err(Ok(reason))`: the data is not a gob; `Err(Err(..))`: reading failed, or the stream ends inside a message.
    pub(super) fn next(
        &mut self,
        content: &mut dyn BufRead,
        mut field: impl FnMut(&str, Value),
    ) -> Result<bool, Result<&'static str, io::Error>> {
        loop {
            if content.fill_buf().map_err(Err)?.is_empty() {
                return Ok(false);
            }
            let length = length(content).map_err(Err)?.filter(|length| *length <= LONGEST);
            self.message.resize(length.ok_or(Ok("a message has an impossible length"))? as usize, 0);
            content.read_exact(&mut self.message).map_err(Err)?;
            let mut bytes = Bytes(&self.message);
            let id = bytes.int().map_err(Ok)?;
            if id < 0 {
                let defined = bytes.definition().map_err(Ok)?;
                self.types.insert(id.checked_neg().ok_or(Ok("a type has no number"))?, defined);
            } else {
                let Some(Type::Struct(fields)) = self.types.get(&id) else { return Err(Ok("a value is not a struct")) };
                let read = bytes.each_field(|bytes, number| {
                    let (name, id) = fields.get(number).ok_or("a struct has more fields than its type")?;
                    bytes.value(*id, &self.types, MAX_DEPTH).map(|value| field(name, value))
                });
                return read.map(|()| true).map_err(Ok);
            }
        }
    }
}

/// Reads the length of a message.
fn length(content: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let mut bytes = [0; 9];
    content.read_exact(&mut bytes[..1])?;
    let more = if bytes[0] < 128 { 0 } else { usize::from(bytes[0].wrapping_neg()) };
    if more > 8 {
        return Ok(None);
    }
    content.read_exact(&mut bytes[1..=more])?;
    Ok(Bytes(&bytes[..=more]).uint().ok())
}

/// The unread bytes of a message.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Read<&'a [u8]> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len());
        let (taken, rest) = self.0.split_at(count.ok_or("a message ends too early")?);
        self.0 = rest;
        Ok(taken)
    }

    /// Below 128: the byte itself. Otherwise: the negated number of following bytes, in big-endian order.
    fn uint(&mut self) -> Read<u64> {
        let first = self.take(1)?[0];
        if first < 128 {
            return Ok(u64::from(first));
        }
        let count = u64::from(first.wrapping_neg());
        if count > 8 {
            return Err("a number is longer than eight bytes");
        }
        Ok(self.take(count)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads a signed integer; if the lowest bit is set, the other bits are inverted.
    fn int(&mut self) -> Read<i64> {
        let bits = self.uint()?;
        let number = (bits >> 1) as i64;
        Ok(if bits & 1 == 1 { !number } else { number })
    }

    fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = self.uint()?;
        self.take(length)
    }

    /// Reads the present fields of a struct; each has its distance from the previous one.
    fn each_field(&mut self, mut read: impl FnMut(&mut Self, usize) -> Read<()>) -> Read<()> {
        let mut next = 0usize;
        loop {
            let step = usize::try_from(self.uint()?).unwrap_or(usize::MAX);
            if step == 0 {
                return Ok(());
            }
            next = next.saturating_add(step);
            read(self, next - 1)?;
        }
    }

    fn value(&mut self, id: i64, types: &HashMap<i64, Type>, depth: u32) -> Read<Value<'a>> {
        let depth = depth.checked_sub(1).ok_or("types are nested without end")?;
        match id {
            known::INT => return self.int().map(Value::Int),
            known::BOOL | known::UINT => return self.uint().map(Value::Uint),
            known::FLOAT => return self.uint().map(|_| Value::Other),
            known::COMPLEX => return self.uint().and_then(|_| self.uint()).map(|_| Value::Other),
            known::BYTES | known::STRING => return self.bytes().map(Value::Bytes),
            _ => {}
        }
        match types.get(&id).ok_or("a value is of a type that was not defined")? {
            Type::Opaque => return self.bytes().map(Value::Bytes),
            Type::Struct(fields) => self.each_field(|bytes, number| {
                let (_, id) = fields.get(number).ok_or("a struct has more fields than its type")?;
                bytes.value(*id, types, depth).map(drop)
            })?,
            Type::Array(of) => {
                for _ in 0..self.uint()? {
                    self.value(*of, types, depth)?;
                }
            }
            Type::Map(key, value) => {
                for _ in 0..self.uint()? {
                    self.value(*key, types, depth)?;
                    self.value(*value, types, depth)?;
                }
            }
        }
        Ok(Value::Other)
    }

    /// Reads a type definition: a struct with exactly one field present. Its position means array, slice, struct, map, or
    /// one of three custom encodings.
    fn definition(&mut self) -> Read<Type> {
        let mut defined = None;
        self.each_field(|bytes, kind| {
            let (mut fields, mut ids) = (Vec::new(), [0; 2]);
            bytes.each_field(|bytes, number| match (kind, number) {
                // The name and number of the type.
                (_, 0) => bytes.each_field(|bytes, number| match number {
                    0 => bytes.bytes().map(drop),
                    _ => bytes.int().map(drop),
                }),
                (2, 1) => {
                    for _ in 0..bytes.uint()? {
                        fields.push(bytes.field()?);
                    }
                    Ok(())
                }
                (0 | 1 | 3, 1 | 2) => bytes.int().map(|id| ids[number - 1] = id),
                _ => Err("a type is defined in an unknown way"),
            })?;
            defined = Some(match kind {
                0 | 1 => Type::Array(ids[0]),
                2 => Type::Struct(std::mem::take(&mut fields)),
                3 => Type::Map(ids[0], ids[1]),
                4..=6 => Type::Opaque,
                _ => return Err("a type is of an unknown kind"),
            });
            Ok(())
        })?;
        defined.ok_or("a type has no definition")
    }

    /// Reads the name and type of a field.
    fn field(&mut self) -> Read<(String, i64)> {
        let mut field = (String::new(), 0);
        self.each_field(|bytes, number| {
            match number {
                0 => field.0 = crate::labels::text(bytes.bytes()?),
                1 => field.1 = bytes.int()?,
                _ => return Err("a field has more than name and type"),
            }
            Ok(())
        })?;
        Ok(field)
    }
}
