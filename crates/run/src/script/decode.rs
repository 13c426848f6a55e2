//! Decompression of response bodies.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Maximum size of a decompressed body. A few compressed bytes can expand to gigabytes.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Maximum number of codings, as in curl.
const MAX_CODINGS: usize = 5;
/// The time limit is checked after this many decompressed bytes.
const PIECE: u64 = 256 * 1024;

/// Undoes the content codings of `body` (`Content-Encoding`; the last was applied last).
///
/// # Errors
/// An unknown coding, more than five codings, invalid data, more than 16 MB, or `has_time` returned false.
pub(super) fn decoded<'a>(body: &'a [u8], codings: &str, has_time: &dyn Fn() -> bool) -> Result<Cow<'a, [u8]>, String> {
    let mut body = Cow::Borrowed(body);
    let codings: Vec<&str> = codings.split(',').map(str::trim).filter(|coding| !coding.is_empty()).collect();
    if codings.len() > MAX_CODINGS {
        return Err(format!("the response has {} content codings; at most {MAX_CODINGS} are decoded", codings.len()));
    }
    let all = |coding: &str, decoder: &mut dyn Read| all(coding, decoder, has_time);
    for coding in codings.into_iter().rev() {
        body = match coding.to_ascii_lowercase().as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => all(coding, &mut MultiGzDecoder::new(&*body))?,
            // `deflate` means zlib (RFC 9110, section 8.4.1.2), but some servers send raw deflate.
            "deflate" => {
                all(coding, &mut ZlibDecoder::new(&*body)).or_else(|_| all(coding, &mut DeflateDecoder::new(&*body)))?
            }
            "br" => all(coding, &mut brotli_decompressor::Decompressor::new(&*body, 4096))?,
            "zstd" => all(coding, &mut zstd::Decoder::with_buffer(&*body).map_err(|reason| reason.to_string())?)?,
            _ => {
                return Err(format!(
                    "the response has the unknown content coding `{coding}`; supported are gzip, deflate, br and zstd"
                ));
            }
        }
        .into();
    }
    Ok(body)
}

fn all(coding: &str, decoder: &mut dyn Read, has_time: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        match decoder.take(PIECE).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() > MAX_BODY => {
                return Err(format!("the {coding} response decompresses to more than 16 MB"));
            }
            Ok(0) => return Ok(bytes),
            Ok(_) if !has_time() => return Err("the response took too long to decompress".to_owned()),
            Ok(_) => {}
            Err(_) => return Err(format!("the response is not valid {coding}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn decoded_all<'a>(body: &'a [u8], codings: &str) -> Result<Cow<'a, [u8]>, String> {
        decoded(body, codings, &|| true)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_coding_is_decoded_and_invalid_data_detected() {
        let text = b"hello hello hello".as_slice();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text).unwrap();
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        bare.write_all(text).unwrap();
        let zstd = zstd::encode_all(text, 3).unwrap();
        // Output of zlib.brotliCompressSync in Node.js 20.
        let brotli = b"\x1b\x10\x00\xf8\x8d\x94\x6e\xde\x44\x55\x86\x96\x6c\x20\x6f\x01\x4f\x1c\x60\x1c".to_vec();
        for (coded, coding) in [
            (text.to_vec(), ""),
            (text.to_vec(), "identity"),
            (gzip(text), "gzip"),
            (zlib.finish().unwrap(), "deflate"),
            (bare.finish().unwrap(), "deflate"),
            (zstd.clone(), "zstd"),
            (gzip(&zstd), "zstd, gzip"),
            (brotli.clone(), "br"),
        ] {
            assert_eq!(decoded_all(&coded, coding).unwrap(), text, "{coding}");
        }
        assert!(decoded_all(&brotli[..9], "br").unwrap_err().contains("is not"));
        assert!(decoded_all(text, "gzip").unwrap_err().contains("is not"));
        assert!(decoded_all(text, &["gzip"; 6].join(",")).unwrap_err().contains("6 content codings"));
        assert!(decoded(&gzip(text), "gzip", &|| false).unwrap_err().contains("too long"));
        assert!(decoded_all(text, "lzma").unwrap_err().contains("unknown content coding"));
    }

    #[test]
    fn a_decompression_bomb_is_rejected() {
        let mut bomb = vec![0; 10 << 20];
        bomb = gzip(&bomb);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for _ in 0..8 {
            encoder.write_all(&decoded_all(&bomb, "gzip").unwrap()).unwrap();
        }
        assert!(decoded_all(&encoder.finish().unwrap(), "gzip").unwrap_err().contains("16 MB"));
    }
}
