//! Answers of HTTP/1, without a socket.

use offered_run::read_response;

/// An answer, and then the end of the connection. The first byte says whether it was HEAD that was asked, and how the rest is cut,
/// which changes nothing.
pub(crate) fn answers(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let (head_only, size) = (cut & 1 == 1, usize::from(cut >> 1) + 1);
    let whole = read_response(bytes.chunks(bytes.len().max(1)), head_only);
    let cut = read_response(bytes.chunks(size), head_only);
    // How it begins is told of as much as had come.
    assert_eq!(whole.as_ref().map_err(|why| why.kind()), cut.as_ref().map_err(|why| why.kind()));
    assert!(whole.is_err() || whole.is_ok_and(|status| (200..1000).contains(&status)));
}
