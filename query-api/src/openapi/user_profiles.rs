//! Operations of profiles of users.

use schemars::SchemaGenerator;
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};

use super::{Operation, answer, inline, operation};
use crate::http::user_profiles::{KeptUserProfile, UserProfilePage, UserProfileParameters};

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let (path, of_one) = ("/v1/user-profiles", "/v1/user-profiles/{user}");
    vec![
        Operation {
            parameters: Some(inline::<UserProfileParameters>(schemas)),
            ..operation(
                "get",
                path,
                "List profiles of users, by name",
                200,
                Some(answer::<UserProfilePage>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<UserProfile>(schemas)),
            ..operation(
                "put",
                of_one,
                "Keep what a user prefers, in place of what was kept",
                200,
                Some(answer::<KeptUserProfile>(schemas)),
            )
        },
        operation(
            "get",
            of_one,
            "What a user prefers",
            200,
            Some(answer::<StoredUserProfile>(schemas)),
        ),
        operation("delete", of_one, "Forget what a user prefers", 204, None),
    ]
}
