//! Reads a table of an `SQLite` database from its pages.
//!
//! Supports table b-trees and records with overflow pages, which is enough for a closed database. Does not support
//! indexes, views, write-ahead logs and tables without row IDs.
//!
//! Source: <https://www.sqlite.org/fileformat2.html>, sections 1.3, 1.5, 1.6 and 2.1.

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a [u8]),
}

impl Value<'_> {
    /// The value as a float: `SQLite` stores a real without a fraction as an integer.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Null | Self::Text(_) => None,
        }
    }
}

/// A database in memory.
pub(super) struct Database<'a> {
    bytes: &'a [u8],
    page: usize,
    /// The bytes of a page that cells may use.
    usable: usize,
}

/// Maximum depth of a b-tree; deeper ones are cyclic.
const DEPTH: u32 = 30;

impl<'a> Database<'a> {
    /// `None` if the header is not that of a database.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.strip_prefix(b"SQLite format 3\0")?;
        let page = match u16::from_be_bytes([*head.first()?, *head.get(1)?]) {
            1 => 65_536,
            page => usize::from(page),
        };
        let usable = page.checked_sub(usize::from(*head.get(4)?))?;
        (page >= 512 && page.is_power_of_two() && usable >= 480).then_some(Self { bytes, page, usable })
    }

    /// The first page of the table `name`, and the names of its columns.
    pub(super) fn table(&self, name: &str) -> Option<(u32, Vec<String>)> {
        let mut found = None;
        self.rows(1, &mut |row| {
            // type, name, tbl_name, rootpage, sql
            if let [Value::Text(b"table"), Value::Text(at), _, Value::Integer(root), Value::Text(sql)] = row
                && *at == name.as_bytes()
            {
                found = u32::try_from(*root).ok().map(|root| (root, columns(sql)));
            }
        })?;
        found
    }

    /// Passes every row of the table with root page `root` to `visit`; `None` if the file is damaged or truncated.
    pub(super) fn rows(&self, root: u32, visit: &mut dyn FnMut(&[Value])) -> Option<()> {
        // A valid tree has each page once; more visits than pages mean a cycle.
        let mut left = self.bytes.len() / self.page + 1;
        self.walk(root, DEPTH, &mut left, visit)
    }

    fn walk(&self, number: u32, depth: u32, left: &mut usize, visit: &mut dyn FnMut(&[Value])) -> Option<()> {
        *left = left.checked_sub(1)?;
        let page = self.page(number)?;
        // The first page starts with the header of the file.
        let head = &page[if number == 1 { 100 } else { 0 }..];
        let cells = usize::from(u16_at(head, 3)?);
        let (interior, pointers) = match head.first()? {
            5 => (true, 12),
            13 => (false, 8),
            _ => return None,
        };
        for cell in 0..cells {
            let cell = page.get(usize::from(u16_at(head, pointers + 2 * cell)?)..self.usable)?;
            if interior {
                self.walk(u32_at(cell, 0)?, depth.checked_sub(1)?, left, visit)?;
            } else {
                self.row(cell, visit)?;
            }
        }
        if interior { self.walk(u32_at(head, 8)?, depth.checked_sub(1)?, left, visit) } else { Some(()) }
    }

    fn page(&self, number: u32) -> Option<&'a [u8]> {
        let from = usize::try_from(number).ok()?.checked_sub(1)?.checked_mul(self.page)?;
        self.bytes.get(from..from + self.page)
    }

    /// Reads a row: length, row ID, and record, which may continue in overflow pages.
    fn row(&self, mut cell: &[u8], visit: &mut dyn FnMut(&[Value])) -> Option<()> {
        let length = usize::try_from(varint(&mut cell)?).ok()?;
        varint(&mut cell)?;
        let most = self.usable - 35;
        if length <= most {
            visit(&record(cell.get(..length)?)?);
            return Some(());
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let first = least + (length - least) % (self.usable - 4);
        let first = if first <= most { first } else { least };
        let mut whole = cell.get(..first)?.to_vec();
        let mut next = u32_at(cell, first)?;
        while whole.len() < length {
            let page = self.page(next)?;
            let rest = (length - whole.len()).min(self.usable - 4);
            whole.extend_from_slice(page.get(4..4 + rest)?);
            next = u32_at(page, 0)?;
        }
        visit(&record(&whole)?);
        Some(())
    }
}

/// The values of a record.
fn record(bytes: &[u8]) -> Option<Vec<Value<'_>>> {
    let mut rest = bytes;
    let head = usize::try_from(varint(&mut rest)?).ok()?;
    let mut kinds = bytes.get(bytes.len() - rest.len()..head)?;
    let mut body = bytes.get(head..)?;
    let mut values = Vec::new();
    while !kinds.is_empty() {
        let kind = varint(&mut kinds)?;
        let size = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let (value, after) = body.split_at_checked(size)?;
        body = after;
        values.push(match kind {
            8 | 9 => Value::Integer(kind as i64 - 8),
            1..=6 => Value::Integer(signed(value)),
            7 => Value::Real(f64::from_bits(signed(value) as u64)),
            // Blobs have even type codes and are not needed here.
            13.. if kind % 2 == 1 => Value::Text(value),
            _ => Value::Null,
        });
    }
    Some(values)
}

/// A big-endian number of one to eight bytes.
fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| *first >= 0x80);
    bytes.iter().fold(if negative { -1 } else { 0 }, |number, byte| number << 8 | i64::from(*byte))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for i in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if i == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The names of the columns in `CREATE TABLE name (first TYPE, second TYPE, ...)`.
fn columns(sql: &[u8]) -> Vec<String> {
    let sql = String::from_utf8_lossy(sql);
    let inside = sql.split_once('(').map_or("", |(_, inside)| inside);
    inside.split(',').filter_map(|column| column.split_whitespace().next()).map(str::to_owned).collect()
}
