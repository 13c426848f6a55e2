//! Authentication of requests (`postman-runtime`, `lib/authorizer`).

use offered_workload::script::{Auth, AwsAuth, ClientAuth, Grant, OAuth2, TokenScope};
use offered_workload::{Template, Url};

use super::Reader;
use crate::address::is_valid_header;
use crate::data::Data;
use crate::text::Text;

/// Authentication of an element; `None` if it is inherited.
pub(super) type AuthSetting = Option<Option<Login>>;

/// Authentication of a request.
#[derive(Clone)]
pub(super) enum Login {
    Auth(Auth),
    Header(String, Text),
    Query(String, Text),
}

impl<'d> Reader<'d> {
    /// Authentication of an element; `None` if it is inherited.
    pub(super) fn auth(&mut self, source: &'d Data, element: &str) -> AuthSetting {
        let kind = source.get("type").text();
        let inside = source.get(kind);
        // A list of key-value pairs in 2.1, a map in 2.0.
        let value = |key: &str| match inside {
            Data::List(pairs) => pairs
                .iter()
                .find(|pair| pair.get("key").text() == key)
                .map_or(String::new(), |pair| pair.get("value").plain()),
            map => map.get(key).plain(),
        };
        match kind {
            "" => None,
            "noauth" => Some(None),
            "basic" => {
                let both = format!("{}:{}", value("username"), value("password"));
                Some(Some(Login::Auth(Auth::Basic(self.resolve(&both, element).template()))))
            }
            "digest" => {
                let both = format!("{}:{}", value("username"), value("password"));
                if !value("nonce").is_empty() {
                    self.note(
                        element,
                        "signs its first request with a challenge stored in the collection; here the server is asked for a challenge",
                    );
                }
                Some(Some(Login::Auth(Auth::Digest(self.resolve(&both, element).template()))))
            }
            "awsv4" if value("accessKey").is_empty() || value("secretKey").is_empty() => {
                self.note(element, "is signed for AWS without keys, which is not translated; set `auth.aws`");
                Some(None)
            }
            "awsv4" => {
                let mut of = |key: &str| self.resolve(&value(key), element);
                let region = Some(of("region").to_display()).filter(|region| !region.is_empty());
                let service = Some(of("service").to_display()).filter(|service| !service.is_empty());
                let token = Some(of("sessionToken")).filter(|token| !token.is_empty());
                Some(Some(Login::Auth(Auth::Aws(Box::new(AwsAuth {
                    region: region.unwrap_or_else(|| "us-east-1".to_owned()),
                    service: service.unwrap_or_else(|| "execute-api".to_owned()),
                    access_key: of("accessKey").template(),
                    secret_key: of("secretKey").template(),
                    token: token.map(|token| token.template()),
                })))))
            }
            // Without a token, Postman sends no header.
            "bearer" => {
                let token = self.resolve(&value("token"), element);
                Some((!token.is_empty()).then(|| Login::Auth(Auth::Bearer(token.template()))))
            }
            "oauth2" => Some(Some(self.oauth2(&value, element))),
            "apikey" => {
                let (key, text) =
                    (self.resolve(&value("key"), element).to_display(), self.resolve(&value("value"), element));
                if value("in") == "query" {
                    return Some(Some(Login::Query(key, text)));
                }
                if !is_valid_header(&key, &text) {
                    self.note(element, format!("the header `{key}` of the API key is not valid; left out"));
                    return Some(None);
                }
                Some(Some(Login::Header(key, text)))
            }
            other => {
                self.note(
                    element,
                    format!("authenticates with {other}, which is not supported; set `auth` or a header"),
                );
                Some(None)
            }
        }
    }

    /// The keys of OAuth 2.0 for grants that need no browser. `value` returns the value of a key.
    fn oauth2(&mut self, value: &dyn Fn(&str) -> String, element: &str) -> Login {
        let of = |reader: &mut Self, key: &str| {
            let text = value(key);
            (!text.is_empty()).then(|| reader.resolve(&text, element).template())
        };
        let token_url = of(self, "accessTokenUrl");
        let is_url = |url: &&Template| url.text().is_none_or(|url| url.parse::<Url>().is_ok());
        let grant = match value("grant_type").as_str() {
            "client_credentials" => Some(Grant::ClientCredentials),
            "password_credentials" => Some(Grant::Password),
            _ => None,
        };
        let (Some(grant), Some(token_url)) = (grant, token_url.filter(|url| is_url(&url))) else {
            self.note(
                element,
                "authenticates by OAuth 2.0 with a token from outside the collection, or through a browser; set `auth.bearer`, or `auth.oauth2` with another grant",
            );
            let token = value("accessToken");
            let token = if token.is_empty() { "{{token}}" } else { &token };
            return Login::Auth(Auth::Bearer(self.resolve(token, element).template()));
        };
        if value("addTokenTo") == "queryParams" {
            self.note(element, "sends its access token in the query; here it is in the header Authorization");
        }
        let needed = |text: Option<Template>| text.unwrap_or_else(|| Template::literal(""));
        let with_user = |reader: &mut Self, key| (grant == Grant::Password).then(|| needed(of(reader, key)));
        let oauth2 = OAuth2 {
            token_url,
            grant,
            client_id: needed(of(self, "clientId")),
            client_secret: of(self, "clientSecret"),
            client_auth: if value("client_authentication") == "body" { ClientAuth::Body } else { ClientAuth::Basic },
            username: with_user(self, "username"),
            password: with_user(self, "password"),
            refresh_token: None,
            scope: of(self, "scope"),
            audience: of(self, "audience"),
            parameters: of(self, "resource").map(|text| ("resource".to_owned(), text)).into_iter().collect(),
            per: TokenScope::Run,
        };
        Login::Auth(Auth::OAuth2(Box::new(oauth2)))
    }
}
