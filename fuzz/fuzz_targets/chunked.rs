#![no_main]

use libfuzzer_sys::fuzz_target;
use offered_chunked::{Chunks, Piece, Wrong};

/// Reads `bytes` in pieces of `size`: the data, and how many bytes were left at the end, if it came.
fn read(bytes: &[u8], size: usize) -> Result<(Vec<u8>, Option<usize>), Wrong> {
    let (mut chunks, mut data, mut given) = (Chunks::new(256), Vec::new(), 0);
    for piece in bytes.chunks(size) {
        let mut input = piece;
        given += piece.len();
        loop {
            match chunks.next(&mut input)? {
                Piece::Data(more) => data.extend_from_slice(more),
                Piece::More => break,
                Piece::End => return Ok((data, Some(bytes.len() - given + input.len()))),
            }
        }
    }
    Ok((data, None))
}

// The first byte says how the rest is cut, which changes nothing.
fuzz_target!(|bytes: &[u8]| {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, usize::from(*cut) + 1), whole);
    assert!(whole.is_err() || whole.is_ok_and(|(data, _)| data.len() <= bytes.len()));
});
