//! What the server lets in: requests of foreign pages.

use crate::common::client::Server;

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_a_foreign_page_makes_are_refused_whatever_their_method() {
    let server = Server::start().await;
    let fetched = async |path: &str, site: &str, mode: &str, destination: &str| {
        let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", destination)];
        server.send("GET", path, &headers, b"").await.status
    };
    for site in ["cross-site", "same-site", "nonsense"] {
        for path in ["/v1/dead-letters", "/v1/documents", "/metrics", "/health/readyz", "/app.js", "/"] {
            assert_eq!(fetched(path, site, "no-cors", "image").await, 403, "{site} {path}");
        }
        assert_eq!(fetched("/", site, "navigate", "document").await, 200, "a link that opens the page");
        assert_eq!(fetched("/", site, "navigate", "iframe").await, 403, "a frame");
        assert_eq!(fetched("/v1/documents", site, "navigate", "document").await, 403, "a link to data");
    }
    for site in ["same-origin", "none"] {
        assert_eq!(fetched("/v1/documents", site, "cors", "empty").await, 200, "{site}");
    }
    let foreign = [JSON, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    let posted = server.send("POST", "/", &foreign, b"{}").await;
    assert_eq!((posted.status, posted.code().as_str()), (403, "denied"));
}
