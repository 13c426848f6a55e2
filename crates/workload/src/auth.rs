//! Authentication of requests.

use crate::oauth2::OAuth2;
use crate::template::Template;

/// The `Authorization` header of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Auth {
    /// Name and password, joined by a colon.
    Basic(Template),
    /// A token.
    Bearer(Template),
    /// Name and password, joined by a colon, for the challenge of the server (RFC 7616).
    Digest(Template),
    /// A signature of the request (AWS Signature Version 4).
    Aws(Box<AwsAuth>),
    /// An access token of OAuth 2.0 (RFC 6749), as a bearer token.
    OAuth2(Box<OAuth2>),
    /// No authentication, even if the target has one.
    None,
}

/// The credentials and the scope that sign a request.
#[derive(Clone, Debug, PartialEq)]
pub struct AwsAuth {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The service, such as `s3` or `execute-api`.
    pub service: String,
    /// The access key ID.
    pub access_key: Template,
    /// The secret access key.
    pub secret_key: Template,
    /// The session token of temporary credentials.
    pub token: Option<Template>,
}

impl Auth {
    /// The templates in the credentials.
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Basic(text) | Self::Bearer(text) | Self::Digest(text) => vec![text],
            Self::Aws(aws) => [&aws.access_key, &aws.secret_key].into_iter().chain(&aws.token).collect(),
            Self::OAuth2(oauth2) => oauth2.templates().collect(),
            Self::None => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn templates_mut(&mut self) -> Vec<&mut Template> {
        match self {
            Self::Basic(text) | Self::Bearer(text) | Self::Digest(text) => vec![text],
            Self::Aws(aws) => [&mut aws.access_key, &mut aws.secret_key].into_iter().chain(&mut aws.token).collect(),
            Self::OAuth2(oauth2) => oauth2.templates_mut().collect(),
            Self::None => Vec::new(),
        }
    }

    /// Whether its header depends on the request or on the server, so that it is made when the request is.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(self, Self::Digest(_) | Self::Aws(_) | Self::OAuth2(_))
    }
}
