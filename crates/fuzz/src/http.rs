//! HTTP/1 responses, without a socket.

use offered_run::read_response;

/// Reads a response that ends with the connection. The first byte says whether the request was HEAD, and how the input
/// is split. The split must not change the result.
pub(crate) fn responses(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let (head_only, size) = (cut & 1 == 1, usize::from(cut >> 1) + 1);
    let whole = read_response(bytes.chunks(bytes.len().max(1)), head_only);
    let cut = read_response(bytes.chunks(size), head_only);
    // Error messages quote the bytes received so far, so only their kinds are compared.
    assert_eq!(whole.as_ref().map_err(|why| why.kind()), cut.as_ref().map_err(|why| why.kind()));
    assert!(whole.is_err() || whole.is_ok_and(|status| (200..1000).contains(&status)));
}
