//! Who asks: the one place where a request becomes a principal.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use tributary_retrieval::Principal;

use crate::problem::Problem;

/// Who asks, and what they may see. Handlers that show what documents hold take it as an argument.
pub struct Caller(pub Principal);

impl Caller {
    /// Whose conversations are meant; nobody's in particular while there is no authentication.
    pub fn owner(&self) -> Option<&str> {
        None
    }
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    /// There is no authentication: whoever reaches the server may see everything, and it listens on
    /// its own machine only.
    fn from_request(_: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(Principal::unrestricted())))
    }
}
