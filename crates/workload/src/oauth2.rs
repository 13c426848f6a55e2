//! OAuth 2.0: the keys of a token request (RFC 6749).

use crate::template::Template;

/// The token request that provides the access token of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuth2 {
    /// The token endpoint: a path on the target of the request, or a URL on any target.
    pub token_url: Template,
    /// The grant of the first token.
    pub grant: Grant,
    /// The client.
    pub client_id: Template,
    /// The secret; `None`: a public client.
    pub client_secret: Option<Template>,
    /// The position of ID and secret in a token request.
    pub client_auth: ClientAuth,
    /// The user, for [`Grant::Password`].
    pub username: Option<Template>,
    /// The user's password, for [`Grant::Password`].
    pub password: Option<Template>,
    /// The refresh token, for [`Grant::RefreshToken`].
    pub refresh_token: Option<Template>,
    /// The requested scopes, separated by blanks.
    pub scope: Option<Template>,
    /// The API that the token grants access to, as used by Auth0 and others.
    pub audience: Option<Template>,
    /// Further parameters of a token request.
    pub parameters: Vec<(String, Template)>,
    /// The scope of a token.
    pub per: TokenScope,
}

offered_base::named! {
    /// A grant of RFC 6749 that needs no browser.
    #[derive(Default)]
    pub enum Grant {
        /// Section 4.4: the token of a service.
        #[default]
        ClientCredentials = "client_credentials",
        /// Section 4.3: the token of a user.
        Password = "password",
        /// Section 6: an access token for a refresh token.
        RefreshToken = "refresh_token",
    }
}

offered_base::named! {
    /// How a client authenticates at the token endpoint (RFC 6749, section 2.3.1).
    #[derive(Default)]
    pub enum ClientAuth {
        /// HTTP Basic.
        #[default]
        Basic = "basic",
        /// Parameters of the body.
        Body = "body",
    }
}

offered_base::named! {
    /// The scope of a token.
    #[derive(Default)]
    pub enum TokenScope {
        /// All requests of the run with equal token requests share one token, or one token for each user name.
        #[default]
        Run = "run",
        /// The requests of one session.
        Session = "session",
    }
}

impl OAuth2 {
    /// The templates.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let Self { client_secret, username, password, refresh_token, scope, audience, parameters, .. } = self;
        let optional = [client_secret, username, password, refresh_token, scope, audience];
        [&self.token_url, &self.client_id]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(parameters.iter().map(|(_, value)| value))
    }

    /// The same, to be changed.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let Self { client_secret, username, password, refresh_token, scope, audience, parameters, .. } = self;
        let optional = [client_secret, username, password, refresh_token, scope, audience];
        [&mut self.token_url, &mut self.client_id]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(parameters.iter_mut().map(|(_, value)| value))
    }
}
