//! Keys of `[target]`, `[server]` and `[[station]]`.

use super::Kind::{
    self, Any, Boolean, Choice, Discipline, File, Form, List, Named, Number, Only, Template, Text, Time, Whole,
};
use super::retry::{BREAKER_KEY, PATIENCE, RETRY_KEY};
use super::{Key, MAX_WHOLE, Shape, key, shape};
use crate::script::{ClientAuth, Grant, TokenScope};
use crate::{Protocol, Resolve, Reuse, Target, WhenFull};

pub(super) const HEADERS: Key =
    key("headers", Named(&Template), "Headers by name, such as { Accept = \"text/html\" }.");

pub(super) const REDIRECTS: Key = key(
    "redirects",
    Whole(0, Target::MOST_REDIRECTS as u64),
    "Maximum number of redirects to follow. Default: that of the target, otherwise 0: a 3xx is the response.",
);

pub(crate) static TARGET: Shape = shape(
    "The server under test.",
    &[
        key("name", Text, "With several targets: name for `target` of requests."),
        key(
            "url",
            Form(r"^(https?://\S+|unix:\S+|postgres(ql)?://\S+)$"),
            "http://host:port/path, https://host/path, unix:/run/app.sock:/path or postgres://user@host/database.",
        ),
        key(
            "reuse",
            Choice(Reuse::NAMES),
            "Connection reuse: any free connection (default), one per session, or a new one per request.",
        ),
        key(
            "connections",
            Whole(1, MAX_WHOLE),
            "Maximum number of connections; a request without a free connection is not sent. For a database: exact number, opened before the run; requests wait for one.",
        ),
        key("in_flight", Whole(1, MAX_WHOLE), "Maximum number of requests in flight; further requests are not sent."),
        key("connect_timeout", Time, "Time limit for opening a connection. Default 5s."),
        key("response_timeout", Time, "Time limit from sending to the last byte of the response. Default 30s."),
        key(
            "resolve",
            Choice(Resolve::NAMES),
            "Which of several addresses a connection tries first: each in turn (default), the first, or one of each IP version at the same time.",
        ),
        key("resolve_every", Time, "Interval of DNS lookups. Default: once per run."),
        key(
            "sources",
            List(&Text),
            "Source addresses of connections, used in turn; ranges as \"127.0.1.1-127.0.1.9\".",
        ),
        HEADERS,
        key(
            "omit_headers",
            List(&Choice(&Target::OWN_HEADERS)),
            "Headers that are not sent unless `headers` sets them. Default: none, so both are sent.",
        ),
        key("auth", Any(&[Kind::Table(&AUTH), Only(false)]), "Credentials. Default: none."),
        key("cookies", Boolean, "Keep cookies per session. Default false."),
        REDIRECTS,
        RETRY_KEY,
        BREAKER_KEY,
        PATIENCE,
        key("resend", Boolean, "Resend unprocessed requests (HTTP/2), and repeatable ones on a closed reused connection. Default true."),
        key("tls", Kind::Table(&TLS), "TLS settings, for https."),
        key("proxy", Form("^http://\\S+$"), "HTTP proxy, as http://user:password@host:3128."),
        key("protocol", Choice(Protocol::NAMES), "HTTP/1.1 (default), HTTP/2, or negotiated by ALPN (https only)."),
        key("descriptors", File, "gRPC: descriptor set written by protoc with --include_imports."),
        key("reflection", Boolean, "gRPC: get descriptors by server reflection before the run. Default false."),
        key(
            "pools",
            Named(&Whole(1, MAX_WHOLE)),
            "Database: connection pools instead of connections, such as { short = 20, long = 5 }, selected by a request's class.",
        ),
        key("on_connect", List(&Text), "Database: SQL that each connection runs first."),
        key(
            "hook",
            List(&Text),
            "Database: command and arguments to run for each new connection before its first request.",
        ),
    ],
)
.needs(&["url"]);

pub(crate) static TLS: Shape = shape(
    "TLS settings.",
    &[
        key("insecure", Boolean, "Accept any certificate; every output states this. Default false."),
        key("roots", File, "PEM file of trusted root certificates, instead of the system's."),
        key("certificate", File, "PEM file of the client certificate."),
        key("key", File, "PEM file of the client key."),
        key("server_name", Text, "Server name for SNI and certificate verification. Default: the url's host."),
        key("resume", Boolean, "Resume TLS sessions. Default false."),
    ],
);

pub(crate) static AUTH: Shape = shape(
    "Credentials.",
    &[
        key("basic", Template, "\"user:password\"."),
        key("bearer", Template, "Bearer token, such as \"{{token}}\"."),
        key("digest", Template, "\"user:password\" for the server's digest challenge (RFC 7616)."),
        key("aws", Kind::Table(&AWS), "Signature of the request, AWS Signature Version 4."),
        key(
            "oauth2",
            Kind::Table(&OAUTH2),
            "Access token of OAuth 2.0, fetched and renewed during the run (RFC 6749).",
        ),
    ],
)
.one_of(&["basic", "bearer", "digest", "aws", "oauth2"]);

pub(crate) static OAUTH2: Shape = shape(
    "How a request gets its access token.",
    &[
        key("token_url", Template, "Token endpoint: a path on the target of the request, or a URL on any target."),
        key("grant", Choice(Grant::NAMES), "Grant of the first token. Default \"client_credentials\"."),
        key("client_id", Template, "Client ID."),
        key("client_secret", Template, "Client secret, such as \"{{secret}}\". Default: a public client."),
        key(
            "client_auth",
            Choice(ClientAuth::NAMES),
            "Where ID and secret are sent: \"basic\" (default), a header, or \"body\".",
        ),
        key("username", Template, "With grant = \"password\": the user."),
        key("password", Template, "With grant = \"password\": the password of the user."),
        key("refresh_token", Template, "With grant = \"refresh_token\": the first refresh token."),
        key("scope", Template, "Scopes, separated by blanks. Default: not sent."),
        key("audience", Template, "Identifier of the API. Default: not sent."),
        key("parameters", Named(&Template), "Further parameters of the token request."),
        key(
            "per",
            Choice(TokenScope::NAMES),
            "Scope of a token: \"run\" (default; shared by all sessions with the same values of these keys) or \"session\".",
        ),
    ],
)
.needs(&["token_url", "client_id"]);

pub(crate) static AWS: Shape = shape(
    "Credentials and scope that sign an AWS request.",
    &[
        key("region", Text, "Region, such as eu-central-1."),
        key("service", Text, "Service, such as s3 or execute-api."),
        key("access_key", Template, "Access key ID."),
        key("secret_key", Template, "Secret access key."),
        key("token", Template, "Session token of temporary credentials."),
    ],
)
.needs(&["region", "service", "access_key", "secret_key"]);

const SERVERS: Key = key("servers", Whole(1, MAX_WHOLE), "Number of servers. Default 1.");
const DISCIPLINE: Key = key("discipline", Discipline, "Scheduling discipline. Default \"fcfs\".");

static RATES_OR_LAW: [Kind; 2] = [List(&Number(0.0)), Kind::Table(&SCALABILITY)];

const RATES: Key = key(
    "rates",
    Any(&RATES_OR_LAW),
    "Load-dependent total service rate with 1, 2, ... requests present, in units of a server of speed 1; the last entry holds for more. Or the Universal Scalability Law. Default: each server has speed 1.",
);

pub(crate) static SCALABILITY: Shape = shape(
    "The Universal Scalability Law: rate n / (1 + contention (n - 1) + coherency n (n - 1)) with n requests present.",
    &[
        key("contention", Number(0.0), "Share of the work that only one request at a time can do. Default 0."),
        key("coherency", Number(0.0), "Relative delay that each pair of requests adds. Default 0."),
    ],
)
.some_of(&["contention", "coherency"]);

pub(crate) static SERVER: Shape = shape(
    "The modelled server.",
    &[
        SERVERS,
        DISCIPLINE,
        key(
            "service",
            Kind::Distribution,
            "Distribution of the service demand of a request. Required unless every request has its own.",
        ),
        RATES,
        key("engine", Kind::Table(&ENGINE), "Instead of the keys above: a batching server of a language model."),
        key(
            "capacity",
            Whole(1, MAX_WHOLE),
            "Maximum number of requests in the system; further requests are rejected. Default: unlimited.",
        ),
        key(
            "cancel",
            Boolean,
            "For simulate, with fcfs: a waiting request leaves the queue when its client gives up. Default false: the server completes it.",
        ),
    ],
);

pub(crate) static ENGINE: Shape = shape(
    "A server that generates tokens for a batch of sequences, step by step. A step takes step + per_sequence x sequences + per_prompt_token x prompt tokens.",
    &[
        key("step", Time, "Time of a step without sequences, such as \"8ms\"."),
        key("per_sequence", Time, "Time that each sequence adds to a step. Default 0s."),
        key("sequences", Whole(1, MAX_WHOLE), "Maximum number of sequences in a batch; further requests wait."),
        key("per_prompt_token", Time, "Time to process a prompt token. Default 0s."),
        key("prompt_chunk", Whole(1, MAX_WHOLE), "Maximum number of prompt tokens in a step. Default: whole prompts."),
        key(
            "prefix_cache",
            Boolean,
            "Whether known prompt prefixes, in blocks of 16 tokens, are taken from a cache and need no time. Default false.",
        ),
    ],
)
.needs(&["step", "sequences"]);

const WHEN_FULL: Key = key(
    "when_full",
    Choice(WhenFull::NAMES),
    "A request that finds the region full is rejected (default), or waits outside, first come, first served.",
);

pub(crate) static REGION: Shape = shape(
    "A region of a queueing network with a limited capacity (finite capacity region).",
    &[
        key("name", Text, "Unique name."),
        key("stations", List(&Text), "Names of its stations."),
        key("capacity", Whole(1, MAX_WHOLE), "Maximum number of requests at all its stations together."),
        WHEN_FULL,
    ],
)
.needs(&["name", "stations", "capacity"]);

pub(crate) static STATION: Shape = shape(
    "A station of a queueing network.",
    &[
        key("name", Text, "Unique name."),
        key("visits", Number(0.0), "Mean number of visits of a request (visit ratio). Default 1."),
        SERVERS,
        DISCIPLINE,
        key("service", Kind::Distribution, "Distribution of the service demand of one visit."),
        RATES,
        key(
            "capacity",
            Whole(1, MAX_WHOLE),
            "Maximum number of requests at the station, waiting and in service. Default: unlimited.",
        ),
        WHEN_FULL,
    ],
)
.needs(&["name", "service"]);
