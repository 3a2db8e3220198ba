//! HTTPS: with a certificate that is replaced while connections go on.

use std::path::Path;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use reqwest::{Certificate, Client};
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_query_api::tls::TlsConfig;
use tributary_schemas::State;
use tributary_store::keys::Grant;

use crate::common;
use crate::common::client::Server;
use crate::rights::Keyed;

/// Writes another pair into the folder; a client that trusts it alone.
fn renew(folder: &Path) -> Client {
    let key = KeyPair::generate().unwrap();
    let parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(folder.join("certificate.pem"), certificate.pem()).unwrap();
    let root = Certificate::from_pem(certificate.pem().as_bytes()).unwrap();
    let client = Client::builder()
        .tls_built_in_root_certs(false)
        .add_root_certificate(root);
    client.no_proxy().build().unwrap()
}

fn config(folder: &Path) -> ServerConfig {
    ServerConfig {
        tls: TlsConfig {
            certificate_file: folder.join("certificate.pem"),
            key_file: folder.join("key.pem"),
        },
        ..common::server_config()
    }
}

fn address(server: &Server, path: &str) -> String {
    format!("https://localhost:{}{path}", server.address.port())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_shown_and_streams_of_before_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let before = renew(folder.path());
    let config = config(folder.path());
    let server = Server::start_with_config(common::models(None), true, config).await;
    let livez = address(&server, "/health/livez");
    assert_eq!(
        before
            .get(&livez)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
        "ok\n"
    );
    let mut events = before
        .get(address(&server, "/v1/events"))
        .send()
        .await
        .unwrap();
    assert_eq!(events.chunk().await.unwrap().unwrap(), ": connected\n\n");
    let plain = server.get("/health/livez").await;
    assert_eq!(plain.status, 0, "plain HTTP is not answered: {plain:?}");

    let after = renew(folder.path());
    assert!(
        after.get(&livez).send().await.is_err(),
        "it is not read yet"
    );
    let me = std::process::id().to_string();
    let told = std::process::Command::new("kill")
        .args(["-HUP", &me])
        .status();
    assert!(told.unwrap().success());
    let mut answered = after.get(&livez).send().await;
    for _ in 0..100 {
        if answered.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        answered = after.get(&livez).send().await;
    }
    assert_eq!(answered.unwrap().status(), 200);
    server
        .kept
        .report("manual/scheduler", 2, State::Chunking)
        .await;
    let event = tokio::time::timeout(Duration::from_secs(20), events.chunk()).await;
    assert!(event.unwrap().unwrap().is_some(), "the stream goes on");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_for_https_alone_and_addresses_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let client = renew(folder.path());
    let keyed = Keyed::start_with(ServerConfig {
        network_access: NetworkAccess::Authenticated,
        audit: tributary_query_api::audit::AuditConfig {
            enabled: true,
            ..common::server_config().audit
        },
        ..config(folder.path())
    })
    .await;
    let (_, key) = keyed.key(vec![Grant::Administrator]);
    let session = client.post(address(&keyed.server, "/v1/session"));
    let signed_in = session.header("authorization", &key).send().await.unwrap();
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    drop(client);
    let kept = keyed.stop().await;
    let page = kept.audit().newest(&Default::default(), 10).await.unwrap();
    assert_eq!(page.entries[0].address.as_deref(), Some("127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_with_files_that_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    renew(folder.path());
    std::fs::write(
        folder.path().join("key.pem"),
        KeyPair::generate().unwrap().serialize_pem(),
    )
    .unwrap();
    let server = Server::start_with_config(common::models(None), true, config(folder.path())).await;
    let told = server.ended().await.unwrap_err().full_message();
    assert!(
        told.contains("does not belong to the certificate"),
        "{told}"
    );
}
