//! Kafka's error codes as error kinds: whose fault, and whether to try again. Called wherever a
//! client of librdkafka fails.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tributary_schemas::{Error, ErrorKind};

/// The failure of `what`, such as "cannot append to topic `x`".
pub fn failed(what: impl std::fmt::Display, error: &KafkaError) -> Error {
    match error {
        KafkaError::AdminOp(code) => from_code(what, *code),
        KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) => {
            Error::new(ErrorKind::Invalid, format!("{what}: {}", setting(error)))
                .with_hint("see the section [store.event_log.kafka]")
        }
        other => match other.rdkafka_error_code() {
            Some(code) => from_code(what, code),
            None => Error::new(ErrorKind::Internal, format!("{what}: {other}")).of_environment(),
        },
    }
}

/// The failure of `what` with a code of Kafka's.
pub fn from_code(what: impl std::fmt::Display, code: Code) -> Error {
    let kind = kind(code);
    let error = Error::new(kind, format!("{what}: {code}"));
    let error = if is_about_the_request(kind) {
        error
    } else {
        error.of_environment()
    };
    match (kind, code) {
        (_, Code::MessageSizeTooLarge | Code::InvalidMessageSize) => error.with_hint(
            "raise max.message.bytes of the topic and store.event_log.kafka.max_record_bytes, or lower store.inline_limit_bytes",
        ),
        (
            _,
            Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed,
        ) => error.with_hint(
            "Kafka has no ACL that allows this: docs/rights.md lists those that the user in store.event_log.kafka.username needs",
        ),
        (ErrorKind::Denied, _) => {
            error.with_hint("check the credentials in [store.event_log.kafka] and the access rights of this user in Kafka")
        }
        (ErrorKind::Unavailable, Code::NotEnoughReplicas | Code::NotEnoughReplicasAfterAppend) => {
            error.with_hint("fewer brokers hold the partition than min.insync.replicas of the topic asks for")
        }
        (
            _,
            Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::OperationTimedOut
            | Code::MessageTimedOut,
        ) => error.with_hint(
            "look whether the brokers of store.event_log.kafka.brokers run and can be reached from here; `tributary doctor` asks them",
        ),
        _ => error,
    }
}

/// Whether the brokers refuse this request and would take others. All else holds work up: rights
/// that were withdrawn, a topic that somebody removed, a broker that fails.
fn is_about_the_request(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Conflict
    )
}

/// A setting that librdkafka refuses, in its words but without the value, which may be a secret.
pub fn setting(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, description, name, _) => {
            format!("librdkafka refuses `{name}`: {description}")
        }
        KafkaError::ClientCreation(description) => {
            format!("librdkafka refuses its settings: {description}")
        }
        other => other.to_string(),
    }
}

/// Table of kinds. What nobody foresaw is `Internal`.
pub fn kind(code: Code) -> ErrorKind {
    match code {
        Code::MessageSizeTooLarge
        | Code::InvalidMessageSize
        | Code::MessageBatchTooLarge
        | Code::InvalidTopic
        | Code::InvalidPartitions
        | Code::InvalidReplicationFactor
        | Code::InvalidReplicaAssignment
        | Code::InvalidConfig
        | Code::InvalidTimestamp
        | Code::InvalidRecord
        | Code::InvalidRequest
        | Code::InvalidArgument
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::UnsupportedCompressionType
        | Code::InconsistentGroupProtocol
        | Code::PolicyViolation => ErrorKind::Invalid,
        Code::UnsupportedVersion
        | Code::UnsupportedFeature
        | Code::UnsupportedForMessageFormat
        | Code::NotImplemented => ErrorKind::Unsupported,
        Code::BadMessage | Code::BadCompression | Code::InvalidMessage => ErrorKind::Corrupt,
        Code::UnknownTopicOrPartition
        | Code::UnknownTopic
        | Code::UnknownTopicId
        | Code::GroupIdNotFound => ErrorKind::NotFound,
        Code::TopicAlreadyExists
        | Code::NonEmptyGroup
        | Code::UnknownMemberId
        | Code::IllegalGeneration
        | Code::FencedInstanceId
        | Code::FencedMemberEpoch
        | Code::StaleMemberEpoch
        | Code::AssignmentLost => ErrorKind::Conflict,
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::DelegationTokenAuthorizationFailed
        | Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState
        | Code::SSL
        | Code::SecurityDisabled => ErrorKind::Denied,
        Code::QueueFull | Code::ThrottlingQuotaExceeded => ErrorKind::Exhausted,
        // The client's own word for a partition that it has no leader of yet, such as after a
        // restart of the broker.
        Code::UnknownPartition
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::Resolve
        | Code::OperationTimedOut
        | Code::MessageTimedOut
        | Code::TimedOutQueue
        | Code::RequestTimedOut
        | Code::BrokerDestroy
        | Code::DestroyBroker
        | Code::WaitingForCoordinator
        | Code::WaitCache
        | Code::InProgress
        | Code::PreviousInProgress
        | Code::Retry
        | Code::State
        | Code::NodeUpdate
        | Code::PurgeQueue
        | Code::PurgeInflight
        | Code::ISRInsufficient
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::BrokerNotAvailable
        | Code::ReplicaNotAvailable
        | Code::NetworkException
        | Code::CoordinatorLoadInProgress
        | Code::CoordinatorNotAvailable
        | Code::NotCoordinator
        | Code::NotController
        | Code::NotEnoughReplicas
        | Code::NotEnoughReplicasAfterAppend
        | Code::RebalanceInProgress
        | Code::KafkaStorageError
        | Code::LogDirNotFound
        | Code::FencedLeaderEpoch
        | Code::UnknownLeaderEpoch
        | Code::StaleBrokerEpoch
        | Code::StaleControllerEpoch
        | Code::OffsetNotAvailable
        | Code::UnstableOffsetCommit
        | Code::PreferredLeaderNotAvailable
        | Code::EligibleLeadersNotAvailable
        | Code::ListenerNotFound
        | Code::UnknownBroker
        | Code::RebootstrapRequired
        | Code::PollExceeded
        | Code::ReassignmentInProgress
        | Code::OutOfOrderSequenceNumber
        | Code::UnknownProducerId
        | Code::InvalidProducerIdMapping
        | Code::InvalidProducerEpoch
        | Code::Fatal
        | Code::GaplessGuarantee => ErrorKind::Unavailable,
        _ => ErrorKind::Internal,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::Disposition;

    use super::*;

    #[test]
    fn what_may_pass_holds_and_what_cannot_does_not() {
        for code in [
            Code::AllBrokersDown,
            Code::MessageTimedOut,
            Code::NotEnoughReplicas,
            Code::RebalanceInProgress,
            Code::QueueFull,
        ] {
            assert_eq!(kind(code).disposition(), Disposition::Hold, "{code}");
        }
        for code in [
            Code::TopicAuthorizationFailed,
            Code::UnknownTopicOrPartition,
            Code::Unknown,
            Code::BadMessage,
        ] {
            assert!(from_code("cannot append", code).is_held(), "{code}");
        }
        assert!(!from_code("cannot append", Code::MessageSizeTooLarge).is_held());
        assert_eq!(kind(Code::MessageSizeTooLarge), ErrorKind::Invalid);
        assert_eq!(kind(Code::TopicAuthorizationFailed), ErrorKind::Denied);
        assert_eq!(kind(Code::UnknownTopicOrPartition), ErrorKind::NotFound);
        assert_eq!(kind(Code::IllegalGeneration), ErrorKind::Conflict);
    }

    #[test]
    fn a_refused_setting_does_not_show_its_value() {
        let mut client = rdkafka::ClientConfig::new();
        client.set("sasl.passwordd", "hunter2");
        let error = client.create_native_config().map(drop).unwrap_err();
        let said = failed("cannot start", &error).full_message();
        assert!(
            said.contains("sasl.passwordd") && !said.contains("hunter2"),
            "{said}"
        );
    }
}
