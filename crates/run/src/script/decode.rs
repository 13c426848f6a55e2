//! Decompression of response bodies.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Maximum size of a decompressed body. A few compressed bytes can expand to gigabytes.
const MAX_BODY: u64 = 16 * 1024 * 1024;

/// Undoes the content codings of `body` (`Content-Encoding`; the last was applied last).
///
/// # Errors
/// An unknown coding, invalid data, or more than 16 MB.
pub(super) fn decoded<'a>(body: &'a [u8], codings: &str) -> Result<Cow<'a, [u8]>, String> {
    let mut body = Cow::Borrowed(body);
    let codings: Vec<&str> = codings.split(',').map(str::trim).filter(|coding| !coding.is_empty()).collect();
    for coding in codings.into_iter().rev() {
        body = match coding.to_ascii_lowercase().as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => all(coding, MultiGzDecoder::new(&*body))?,
            // `deflate` means zlib (RFC 9110, section 8.4.1.2), but some servers send raw deflate.
            "deflate" => all(coding, ZlibDecoder::new(&*body)).or_else(|_| all(coding, DeflateDecoder::new(&*body)))?,
            "br" => all(coding, brotli_decompressor::Decompressor::new(&*body, 4096))?,
            "zstd" => all(coding, zstd::Decoder::with_buffer(&*body).map_err(|reason| reason.to_string())?)?,
            _ => {
                return Err(format!(
                    "the response has the unknown content coding `{coding}`; known are gzip, deflate, br and zstd"
                ));
            }
        }
        .into();
    }
    Ok(body)
}

fn all(coding: &str, mut decoder: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match decoder.by_ref().take(MAX_BODY + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > MAX_BODY => Err(format!("the {coding} response decompresses to more than 16 MB")),
        Ok(_) => Ok(bytes),
        Err(_) => Err(format!("the response is not valid {coding}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

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
            assert_eq!(decoded(&coded, coding).unwrap(), text, "{coding}");
        }
        assert!(decoded(&brotli[..9], "br").unwrap_err().contains("is not"));
        assert!(decoded(text, "gzip").unwrap_err().contains("is not"));
        assert!(decoded(text, "lzma").unwrap_err().contains("unknown content coding"));
    }

    #[test]
    fn a_decompression_bomb_is_rejected() {
        let mut bomb = vec![0; 10 << 20];
        bomb = gzip(&bomb);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for _ in 0..8 {
            encoder.write_all(&decoded(&bomb, "gzip").unwrap()).unwrap();
        }
        assert!(decoded(&encoder.finish().unwrap(), "gzip").unwrap_err().contains("16 MB"));
    }
}
