//! What an owner does over HTTP, and that it is there after a restart.

use std::path::Path;

use maitred::server::Running;
use maitred::store::sqlite::{FILE, Sqlite};
use maitred::transport::grpc::proto::menu_service_client::MenuServiceClient;
use serde_json::{Value, json};

use crate::fixture::skill_md;
use crate::harness::{Setup, load_request, serve_config, start, turn_request};
use crate::wire::{HttpAnswer, send};

const JSON: &str = "Content-Type: application/json";

/// A server over a directory of data.
struct Owned(Running);

impl Owned {
    async fn start(data: &Path) -> Self {
        let config = serve_config(Vec::new(), &Setup::default());
        Self(start(maitred::config::ServeConfig { data: Some(data.to_owned()), ..config }).await.unwrap())
    }

    async fn send(&self, method: &str, path: &str, headers: &[&str], body: &Value) -> HttpAnswer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [&[JSON], headers].concat();
        send(self.0.http.as_ref().unwrap(), method, &format!("/api/agents{path}"), &headers, &body).await
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, &[], &Value::Null).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json
    }

    /// The slugs of a turn's menu.
    async fn menu(&self, agent: &str, turn: &str, revision: &Value) -> Vec<String> {
        let body = json!({ "text": turn, "min_revision": revision });
        let answer = self.send("POST", &format!("/{agent}/menu"), &[], &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let items = answer.json["items"].as_array().unwrap().iter();
        items.map(|item| item["slug"].as_str().unwrap().to_owned()).collect()
    }
}

fn draft(body: &str) -> Value {
    json!({ "slug": "soup", "description": "Cooks onion soup.", "triggers": ["onion soup"], "body": body })
}

#[track_caller]
fn refused(answer: &HttpAnswer, status: u16, reason: &str) {
    assert_eq!((answer.status, &answer.json["reason"]), (status, &json!(reason)), "{answer:?}");
    assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_store_begins_with_the_starter_packs_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Owned::start(data.path()).await;
    let seeded = server.get("/default").await;
    assert_eq!((&seeded["playbook_count"], &seeded["playbooks_max"]), (&json!(12), &json!(30)));
    for slug in ["release-notes", "refund-request"] {
        let path = format!("/default/playbooks/{slug}");
        assert_eq!(server.send("DELETE", &path, &["If-Match: *"], &Value::Null).await.status, 200);
    }
    server.0.stop().await.unwrap();
    // What was taken away does not come back.
    let server = Owned::start(data.path()).await;
    assert_eq!(server.get("/default").await["playbook_count"], 10);
    server.0.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_playbook_is_written_edited_rolled_back_and_kept() {
    let data = tempfile::tempdir().unwrap();
    let server = Owned::start(data.path()).await;
    refused(&server.send("POST", "/chef/playbooks", &[], &draft("x")).await, 404, "AGENT_UNKNOWN");
    assert_eq!(server.send("PUT", "/chef", &[], &json!({})).await.status, 201);
    let made = server.send("POST", "/chef/playbooks", &[], &draft("Slice the onions.")).await;
    assert_eq!((made.status, &made.json["playbook"]["status"]), (201, &json!("active")), "{made:?}");
    assert_eq!(made.json["playbook"]["revision"], made.json["revision"]);
    assert_eq!(server.menu("chef", "onion soup, please", &made.json["revision"]).await, ["soup"]);
    let again = server.send("POST", "/chef/playbooks", &[], &draft("Other.")).await;
    refused(&again, 409, "SLUG_TAKEN");
    assert_eq!(again.json["facts"]["proposal"], "soup-2");

    let first = made.json["playbook"]["digest"].as_str().unwrap().to_owned();
    assert!(made.head.contains(&format!("etag: \"{first}\"")), "{}", made.head);
    let path = "/chef/playbooks/soup";
    refused(&server.send("PUT", path, &[], &draft("Peel.")).await, 428, "DIGEST_MISSING");
    let read = format!("If-Match: \"{first}\"");
    let edited = server.send("PUT", path, &[&read], &draft("Peel them first.")).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    let other = format!("If-Match: \"sha256:{}\"", "0".repeat(64));
    refused(&server.send("DELETE", path, &[&other], &Value::Null).await, 412, "DIGEST_MISMATCH");
    let rolled = server.send("POST", &format!("{path}/activate"), &[&read], &Value::Null).await;
    assert_eq!(
        (rolled.status, &rolled.json["playbook"]["active_digest"]),
        (200, &json!(first)),
        "{rolled:?}"
    );
    // What was rolled back to is one file again, the one that is exported.
    assert_eq!(rolled.json["playbook"]["file_digest"], made.json["playbook"]["file_digest"]);
    assert!(rolled.json["revision"].as_u64() > edited.json["revision"].as_u64());
    server.0.stop().await.unwrap();

    let server = Owned::start(data.path()).await;
    let history = server.get(&format!("{path}/history")).await;
    let deeds: Vec<_> = history["events"].as_array().unwrap().iter().map(|event| &event["deed"]).collect();
    assert_eq!(deeds, ["activated", "edited", "created"]);
    let shown = server.get(&format!("{path}?version=active")).await;
    assert_eq!((&shown["body"], &shown["digest"]), (&json!("Slice the onions."), &json!(first)));
    assert_eq!(server.menu("chef", "onion soup, please", &rolled.json["revision"]).await, ["soup"]);

    let reason = json!({ "reason": "it asks for a password" });
    let revoked = server.send("POST", &format!("{path}/revoke"), &["If-Match: *"], &reason).await;
    assert_eq!(
        (revoked.status, &revoked.json["playbook"]["status"]),
        (200, &json!("revoked")),
        "{revoked:?}"
    );
    assert!(server.menu("chef", "onion soup, please", &revoked.json["revision"]).await.is_empty());
    refused(
        &server.send("POST", &format!("{path}/activate"), &[&read], &Value::Null).await,
        409,
        "DIGEST_BARRED",
    );
    server.0.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_file_of_an_import_has_its_own_outcome() {
    let data = tempfile::tempdir().unwrap();
    let server = Owned::start(data.path()).await;
    server.send("PUT", "/chef", &[], &json!({ "playbooks_max": 2 })).await;
    let file = |name: &str, content: String| json!({ "name": name, "content": content });
    let skill = |slug: &str| skill_md(slug, slug, &format!("Cooks {slug}."), "Heat it.");
    let files = json!({ "files": [
        file("a", skill("soup")), file("b", "no frontmatter".to_owned()), file("c", skill("soup")),
        file("d", skill("stew")), file("e", skill("roast")),
    ]});
    let path = "/chef/playbooks/import";
    let wanted = json!(["imported", "refused", "skipped", "imported", "refused"]);
    for query in ["?dry_run=true", ""] {
        assert_eq!(server.get("/chef").await["playbook_count"], 0);
        let answer = server.send("POST", &format!("{path}{query}"), &[], &files).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let of = |key: &str| -> Vec<Value> {
            answer.json["files"].as_array().unwrap().iter().map(|file| file[key].clone()).collect()
        };
        assert_eq!(
            (json!(of("name")), json!(of("outcome"))),
            (json!(["a", "b", "c", "d", "e"]), wanted.clone())
        );
        assert_eq!(of("reason")[4], "PLAYBOOKS_TOO_MANY");
        assert_eq!(
            answer.json["summary"],
            json!({ "imported": 2, "needs_review": 0, "skipped": 1, "refused": 2 })
        );
    }
    assert_eq!(server.get("/chef").await["playbook_count"], 2);
    server.0.stop().await.unwrap();
}

/// A browser sends what a page of another origin makes it send; nothing of it is done.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_others_write_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Owned::start(data.path()).await;
    for header in ["Origin: https://example.org", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        assert_eq!(server.send("PUT", "/chef", &[header], &json!({})).await.status, 403, "{header}");
    }
    let http = server.0.http.as_ref().unwrap();
    let form = send(http, "PUT", "/api/agents/chef", &["Content-Type: text/plain"], "{}").await;
    assert_eq!(form.status, 415, "{form:?}");
    assert_eq!(server.send("GET", "/chef", &[], &Value::Null).await.status, 404);
    server.0.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_served_is_refused_and_left_alone() {
    let open = async |data: &Path| Sqlite::open(data, "maitred serve on here").await.map(drop);
    let data = tempfile::tempdir().unwrap();
    let held = Sqlite::open(data.path(), "maitred serve on here").await.unwrap();
    let error = open(data.path()).await.unwrap_err().to_string();
    assert!(error.contains("is in use by maitred serve on here, process "), "{error}");
    drop(held);

    let other = tempfile::tempdir().unwrap();
    let file = other.path().join(FILE);
    std::fs::write(&file, "precious notes").unwrap();
    let error = open(other.path()).await.unwrap_err().to_string();
    assert!(error.contains("maitred.db is no SQLite database; move it away"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"precious notes");
}

/// What was withdrawn after the backup stays withdrawn, and no caller sees an older revision than before.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_made_while_serving_and_restored() {
    let data = tempfile::tempdir().unwrap();
    let (copy, kept) = (data.path().join("copy.db"), data.path().join("kept"));
    let server = Owned::start(&kept).await;
    server.send("PUT", "/chef", &[], &json!({})).await;
    let made = server.send("POST", "/chef/playbooks", &[], &draft("Slice the onions.")).await;
    let revision = Sqlite::backup(&kept, &copy).await.unwrap();
    assert_eq!(made.json["revision"], revision.number());
    let error = Sqlite::backup(&kept, &copy).await.unwrap_err().to_string();
    assert!(error.contains("copy.db: is there already"), "{error}");
    let error = Sqlite::restore(&kept, &copy).await.unwrap_err().to_string();
    assert!(error.contains("is in use by maitred serve on 127.0.0.1:0"), "{error}");

    let stew =
        json!({ "slug": "stew", "description": "Cooks stew.", "triggers": ["stew"], "body": "Heat it." });
    server.send("POST", "/chef/playbooks", &[], &stew).await;
    let reason = json!({ "reason": "it asks for a password" });
    let revoked = server.send("POST", "/chef/playbooks/soup/revoke", &["If-Match: *"], &reason).await;
    server.0.stop().await.unwrap();

    // Over another directory, it is as it was.
    let moved = data.path().join("moved");
    let restored = Sqlite::restore(&moved, &copy).await.unwrap();
    assert_eq!((restored.revision, restored.replaced), (revision.next(), None));
    let server = Owned::start(&moved).await;
    assert_eq!(server.get("/chef/playbooks/soup").await["status"], "active");
    server.0.stop().await.unwrap();
    // Damaged, the directory gets it back, and its revision is far ahead.
    let file = moved.join(FILE);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100..].fill(0x5a);
    std::fs::write(&file, bytes).unwrap();
    let config = serve_config(Vec::new(), &Setup::default());
    let config = maitred::config::ServeConfig { data: Some(moved.clone()), ..config };
    let error = start(config).await.unwrap_err();
    assert!(error.contains("maitred.db is damaged") && error.contains("`maitred restore`"), "{error}");
    let again = Sqlite::restore(&moved, &copy).await.unwrap();
    assert!(again.revision > restored.revision);
    assert!(again.replaced.unwrap().exists());

    let restored = Sqlite::restore(&kept, &copy).await.unwrap();
    assert!(Some(restored.revision.number()) > revoked.json["revision"].as_u64());
    let server = Owned::start(&kept).await;
    assert_eq!(server.get("/chef").await["playbook_count"], 1);
    assert_eq!(server.get("/chef/playbooks/soup").await["status"], "revoked");
    assert!(server.menu("chef", "onion soup, please", &json!(restored.revision.number())).await.is_empty());
    server.0.stop().await.unwrap();
}

/// What a server counted is there after it; turns that an owner tries are not counted.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_offered_and_loaded_is_counted() {
    let data = tempfile::tempdir().unwrap();
    for round in 1..=2_u64 {
        let server = Owned::start(data.path()).await;
        let mut client = MenuServiceClient::connect(format!("http://{}", server.0.listen)).await.unwrap();
        let menu = client.select_menu(turn_request("write release notes")).await.unwrap().into_inner();
        client.load_playbook(load_request(&menu.menu_token, "release-notes")).await.unwrap();
        server.menu("default", "write release notes", &json!(1)).await;
        drop(client);
        server.0.stop().await.unwrap();

        let server = Owned::start(data.path()).await;
        let usage = server.get("/default/usage").await;
        let counted = usage["playbooks"].as_array().unwrap().iter();
        let notes = counted.clone().find(|usage| usage["slug"] == "release-notes").unwrap();
        let offered = ["offered_always_on", "offered_trigger", "offered_semantic"];
        let offered: u64 = offered.iter().map(|reason| notes[reason].as_u64().unwrap()).sum();
        assert_eq!((offered, notes["loaded"].as_u64()), (round, Some(round)), "{usage}");
        assert!(notes["last_unix_secs"].as_u64() > Some(1_700_000_000));
        server.0.stop().await.unwrap();
    }
}
