//! Signing requests: AWS Signature Version 4, and digest authentication (RFC 7616).

use std::cell::Cell;

use jiff::Timestamp;
use jiff::fmt::strtime;
use md5::Md5;
use offered_base::Nanos;
use offered_workload::script::AwsAuth;
use offered_workload::template::in_url;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use super::hashes::{hex, hmac_sha256};
use super::value::{MissingValue, Text, Values};
use super::{RequestContext, SessionState};
use crate::message::OutgoingRequest;

/// A compiled AWS signature.
#[derive(Debug)]
pub(super) struct Aws {
    region: String,
    service: String,
    access_key: Text,
    secret_key: Text,
    token: Option<Text>,
}

/// The headers that a signature adds.
const SIGNED: [&str; 3] = ["x-amz-date", "x-amz-security-token", "x-amz-content-sha256"];

impl Aws {
    pub(super) fn new(auth: &AwsAuth, values: &Values) -> Self {
        Self {
            region: auth.region.clone(),
            service: auth.service.clone(),
            access_key: values.text(&auth.access_key),
            secret_key: values.text(&auth.secret_key),
            token: auth.token.as_ref().map(|token| values.text(token)),
        }
    }

    /// Signs `outgoing` to `host` at the time `now`, since the Unix epoch.
    ///
    /// # Errors
    /// A value is missing.
    pub(super) fn sign(
        &self,
        outgoing: &mut OutgoingRequest,
        host: &str,
        now: Nanos,
        values: &Values,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> Result<(), MissingValue> {
        let instant = Timestamp::from_second((now.0 / 1_000_000_000) as i64);
        let instant = instant.map_err(|reason| MissingValue::Value(reason.to_string()))?;
        let formatted = |format| strtime::format(format, instant).map_err(|r| MissingValue::Value(r.to_string()));
        let (date, time) = (formatted("%Y%m%d")?, formatted("%Y%m%dT%H%M%SZ")?);
        let payload = hex(&Sha256::digest(outgoing.body.as_deref().unwrap_or_default()));
        outgoing.headers.retain(|(name, _)| !SIGNED.contains(&name.to_ascii_lowercase().as_str()));
        outgoing.headers.push(("X-Amz-Date".to_owned(), time.clone()));
        if let Some(token) = &self.token {
            outgoing.headers.push(("X-Amz-Security-Token".to_owned(), values.plain(token, context, state)?));
        }
        let is_s3 = self.service == "s3";
        if is_s3 {
            outgoing.headers.push(("X-Amz-Content-Sha256".to_owned(), payload.clone()));
        }
        let (headers, names) = canonical_headers(outgoing, host);
        let (path, query) = outgoing.path.split_once('?').unwrap_or((&outgoing.path, ""));
        // All services but S3 encode the path once more.
        let path = if is_s3 { path.to_owned() } else { path.split('/').map(encoded).collect::<Vec<_>>().join("/") };
        let query = canonical_query(query);
        let request = format!("{}\n{path}\n{query}\n{headers}\n{names}\n{payload}", outgoing.method);
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let secret = format!("AWS4{}", values.plain(&self.secret_key, context, state)?);
        let steps = [&date, &self.region, &self.service, "aws4_request", &text];
        let key = steps.iter().fold(secret.into_bytes(), |key, step| hmac_sha256(&key, step));
        let credential = format!("{}/{scope}", values.plain(&self.access_key, context, state)?);
        let header =
            format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={}", hex(&key));
        outgoing.headers.push(("Authorization".to_owned(), header));
        Ok(())
    }
}

/// The host and the AWS headers in the form that is signed, and their names.
fn canonical_headers(outgoing: &OutgoingRequest, host: &str) -> (String, String) {
    let own = outgoing.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()));
    let host = own.clone().find(|(name, _)| name == "host").map_or(host, |(_, value)| value);
    let own = own.filter(|(name, _)| name.starts_with("x-amz-"));
    let mut all: Vec<(String, &str)> = own.chain([("host".to_owned(), host)]).collect();
    all.sort();
    let line = |(name, value): &(String, &str)| {
        format!("{name}:{}\n", value.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
    };
    let names = all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    (all.iter().map(line).collect(), names)
}

/// A query with its parameters encoded and in order.
fn canonical_query(query: &str) -> String {
    let part = |text: &str| encoded(&percent_decode_str(text).decode_utf8_lossy());
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (part(name), part(value)))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    in_url("?=", text)
}

/// A challenge of a server, and the number of requests that used its nonce.
#[derive(Debug)]
pub(super) struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// Whether the server supports `qop=auth`.
    is_counted: bool,
    algorithm: Option<String>,
    count: Cell<u32>,
}

impl Challenge {
    /// Parses a `WWW-Authenticate` header; `None`: it is no digest challenge that can be answered.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("digest") {
            return None;
        }
        let parameters = parameters(rest);
        let of = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        let algorithm = of("algorithm");
        let known = ["md5", "md5-sess", "sha-256", "sha-256-sess"];
        if algorithm.as_ref().is_some_and(|name| !known.contains(&name.to_ascii_lowercase().as_str())) {
            return None;
        }
        let qop = of("qop");
        let is_counted =
            qop.as_ref().is_some_and(|qop| qop.split(',').any(|one| one.trim().eq_ignore_ascii_case("auth")));
        if qop.is_some() && !is_counted {
            return None;
        }
        Some(Self {
            realm: of("realm")?,
            nonce: of("nonce")?,
            opaque: of("opaque"),
            is_counted,
            algorithm,
            count: Cell::new(0),
        })
    }

    /// The `Authorization` header of a request by `user` (name and password with a colon between).
    pub(super) fn answer(&self, user: &str, method: &str, uri: &str, cnonce: &str) -> String {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        let algorithm = self.algorithm.as_deref().unwrap_or("MD5").to_ascii_lowercase();
        let hash = |text: String| {
            if algorithm.starts_with("sha-256") { hex(&Sha256::digest(text)) } else { hex(&Md5::digest(text)) }
        };
        let Self { realm, nonce, .. } = self;
        let mut secret = hash(format!("{name}:{realm}:{password}"));
        if algorithm.ends_with("-sess") {
            secret = hash(format!("{secret}:{nonce}:{cnonce}"));
        }
        let request = hash(format!("{method}:{uri}"));
        self.count.set(self.count.get() + 1);
        let count = format!("{:08x}", self.count.get());
        let response = match self.is_counted {
            true => hash(format!("{secret}:{nonce}:{count}:{cnonce}:auth:{request}")),
            false => hash(format!("{secret}:{nonce}:{request}")),
        };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut header = format!(
            "Digest username=\"{}\", realm=\"{}\", nonce=\"{}\", uri=\"{uri}\", response=\"{response}\"",
            quoted(name),
            quoted(realm),
            quoted(nonce)
        );
        if let Some(algorithm) = &self.algorithm {
            header += &format!(", algorithm={algorithm}");
        }
        if let Some(opaque) = &self.opaque {
            header += &format!(", opaque=\"{}\"", quoted(opaque));
        }
        if self.is_counted {
            header += &format!(", qop=auth, nc={count}, cnonce=\"{cnonce}\"");
        }
        header
    }
}

/// `a=b, c="d, e"` as names and values.
fn parameters(text: &str) -> Vec<(String, String)> {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',', '\t']).to_owned();
        let after = after.trim_start();
        let (value, further) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (mut value, mut escaped, mut end) = (String::new(), false, quoted.len());
                for (at, c) in quoted.char_indices() {
                    match c {
                        '"' if !escaped => {
                            end = at;
                            break;
                        }
                        '\\' if !escaped => escaped = true,
                        c => {
                            value.push(c);
                            escaped = false;
                        }
                    }
                }
                (value, quoted.get(end + 1..).unwrap_or_default())
            }
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        all.push((name, value));
        rest = further;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_to_a_challenge_are_those_of_rfc_7616() {
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let header = format!(
                "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
                 nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            );
            let challenge = Challenge::parse(&header).unwrap();
            let answer = challenge.answer("Mufasa:Circle of Life", "GET", "/dir/index.html", cnonce);
            assert!(answer.contains(&format!("response=\"{response}\"")), "{answer}");
            assert!(answer.ends_with(&format!("qop=auth, nc=00000001, cnonce=\"{cnonce}\"")), "{answer}");
            assert!(challenge.answer("a:b", "GET", "/", cnonce).contains("nc=00000002"));
        }
        assert!(Challenge::parse("Basic realm=\"a\"").is_none());
        assert!(Challenge::parse("Digest realm=\"a\", nonce=\"b\", qop=\"auth-int\"").is_none());
        assert!(Challenge::parse("Digest realm=\"a\", nonce=\"b\", algorithm=SHA-512").is_none());
        let old = Challenge::parse("digest realm=\"a \\\"b\\\"\", nonce=n").unwrap();
        assert_eq!((old.realm.as_str(), old.nonce.as_str(), old.is_counted), ("a \"b\"", "n", false));
    }
}
