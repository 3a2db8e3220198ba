//! Why somebody with a token is not let in. What is told goes no further than what the caller has
//! shown: claims are looked at only once the signature is right.

use crate::problem::{Code, Problem};

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenRefusal {
    /// No token of three parts that can be read, or without what each must say.
    Malformed,
    /// Signed in a way that is not allowed, or not with this key.
    Algorithm,
    /// Signed with a key that the issuer does not publish.
    UnknownKey,
    /// The signature is not that of the key over these words.
    Signature,
    /// Made by somebody else.
    Issuer,
    /// Made for somebody else.
    Audience,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// The issuer's keys cannot be had.
    Unavailable,
}

impl From<TokenRefusal> for Problem {
    fn from(refusal: TokenRefusal) -> Self {
        let (code, what, hint) = match refusal {
            TokenRefusal::Malformed => (
                Code::TokenMalformed,
                "this is no token that can be read",
                "send the access token of the identity provider as it is, three parts with two dots between them",
            ),
            TokenRefusal::Algorithm => (
                Code::TokenAlgorithm,
                "the token is signed in a way that is not allowed",
                "the administrator sees which are in query_api.server.identity.tokens.algorithms",
            ),
            TokenRefusal::UnknownKey => (
                Code::TokenKeyUnknown,
                "the token is signed with a key that the identity provider does not publish",
                "get another token",
            ),
            TokenRefusal::Signature => (
                Code::TokenSignature,
                "the signature of the token is wrong",
                "get another token",
            ),
            TokenRefusal::Issuer => (
                Code::TokenIssuer,
                "the token was made by another issuer",
                "get one of the identity provider that this server trusts",
            ),
            TokenRefusal::Audience => (
                Code::TokenAudience,
                "the token is meant for another service",
                "ask for one with the audience of this server",
            ),
            TokenRefusal::Expired => (
                Code::TokenExpired,
                "the time of this token is over",
                "get another token, or sign in again",
            ),
            TokenRefusal::NotYetValid => (
                Code::TokenNotYetValid,
                "the time of this token has not come",
                "compare the clocks of the identity provider and of this server",
            ),
            TokenRefusal::Unavailable => (
                Code::IdentityUnavailable,
                "the keys of the identity provider cannot be fetched, and the token's is not known",
                "try again in a moment; the server's log says why",
            ),
        };
        Self::new(code, what).with_hint(hint)
    }
}
