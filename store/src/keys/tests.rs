//! Keys as they are made, shown, rotated, revoked, and read by a server that runs meanwhile.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;

use tributary_schemas::ErrorKind;

use super::*;

const NOW: i64 = 1_764_000_000_000;
const TOKEN: &str = "0123456789abcdef";

fn reader(name: &str) -> NewKey {
    NewKey {
        name: name.to_owned(),
        roles: vec![Grant::Reader],
        expires_ms: None,
    }
}

fn ring(folder: &tempfile::TempDir) -> (KeyFile, KeyRing) {
    let path = folder.path();
    (
        KeyFile::in_folder(path),
        KeyRing::open(path.to_owned(), TOKEN),
    )
}

#[test]
fn a_key_is_accepted_until_it_is_revoked_by_a_server_that_runs_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let (key, secret) = file.create(reader("a"), NOW).unwrap();
    let holder = ring.holder(secret.reveal(), NOW).unwrap();
    assert_eq!(
        (holder.id.as_deref(), &holder.roles),
        (Some(key.id.as_str()), &key.roles)
    );
    let (_, other) = file.create(reader("b"), NOW).unwrap();
    assert!(ring.holder(other.reveal(), NOW).is_ok());
    file.revoke(&key.prefix(), NOW).unwrap();
    assert_eq!(ring.holder(secret.reveal(), NOW), Err(Refusal::Revoked));
    assert_eq!(
        ring.still_holds(holder.id.as_deref(), &holder.mark, NOW),
        Err(Refusal::Revoked)
    );
    assert!(ring.holder(other.reveal(), NOW).is_ok());
    assert_eq!(
        file.revoke("ffffffffffff", NOW).unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn wrong_secrets_and_what_is_no_key_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let (key, secret) = file.create(reader("a"), NOW).unwrap();
    let mut other_last = secret.reveal().to_owned();
    let last = other_last.pop().unwrap();
    other_last.push(if last == '0' { '1' } else { '0' });
    let wrong = [
        String::new(),
        other_last,
        key.prefix(),
        format!("{}_", key.prefix()),
        format!(" {}", secret.reveal()),
        secret.reveal().to_uppercase(),
        format!("trb_ffffffffffff_{}", "0".repeat(64)),
        "密钥".to_owned(),
    ];
    for shown in wrong {
        assert_eq!(ring.holder(&shown, NOW), Err(Refusal::Unknown), "{shown}");
    }
}

#[test]
fn a_rotated_key_has_two_secrets_for_as_long_as_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let (key, first) = file.create(reader("a"), NOW).unwrap();
    let (rotated, second) = file.rotate(&key.id, 1000, NOW).unwrap();
    assert_eq!(rotated.overlap_until_ms(NOW), Some(NOW + 1000));
    let old = ring.holder(first.reveal(), NOW + 999).unwrap();
    assert!(
        ring.still_holds(old.id.as_deref(), &old.mark, NOW + 999)
            .is_ok()
    );
    assert_eq!(
        ring.holder(first.reveal(), NOW + 1000),
        Err(Refusal::Expired)
    );
    assert_eq!(
        ring.still_holds(old.id.as_deref(), &old.mark, NOW + 1000),
        Err(Refusal::Expired)
    );
    let new = ring.holder(second.reveal(), NOW + 1000).unwrap();
    assert_eq!(new.id, old.id);
    // A second rotation never makes the first secret live longer.
    file.rotate(&key.id, 9000, NOW + 500).unwrap();
    assert_eq!(
        ring.holder(first.reveal(), NOW + 1000),
        Err(Refusal::Expired)
    );
    file.rotate(&key.id, 0, NOW + 600).unwrap();
    assert!(ring.holder(second.reveal(), NOW + 600).is_err());
}

#[test]
fn expired_and_revoked_keys_are_refused_and_not_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let short = NewKey {
        expires_ms: Some(NOW + 10),
        ..reader("short")
    };
    let (key, secret) = file.create(short, NOW).unwrap();
    assert!(ring.holder(secret.reveal(), NOW + 9).is_ok());
    assert_eq!(
        ring.holder(secret.reveal(), NOW + 10),
        Err(Refusal::Expired)
    );
    let refused = file.rotate(&key.id, 0, NOW + 10).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(
        file.revoke(&key.id, NOW + 20).unwrap().state(NOW + 20),
        KeyState::Revoked
    );
}

#[test]
fn the_file_is_private_and_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let (_, secret) = file.create(reader("a"), NOW).unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let random = secret.reveal().rsplit('_').next().unwrap();
    assert!(!text.contains(random) && !format!("{secret:?}").contains(random));
    let mode = || std::fs::metadata(file.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(file.path(), open).unwrap();
    assert_eq!(file.read().unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(ring.holder(secret.reveal(), NOW), Err(Refusal::Unreadable));
}

#[test]
fn without_readable_keys_only_the_owner_of_the_folder_is_let_in() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let (_, secret) = file.create(reader("a"), NOW).unwrap();
    assert!(ring.holder(secret.reveal(), NOW).is_ok());
    std::fs::write(file.path(), "{").unwrap();
    assert_eq!(ring.holder(secret.reveal(), NOW), Err(Refusal::Unreadable));
    assert_eq!(file.read().unwrap_err().kind(), ErrorKind::Corrupt);
    std::fs::remove_file(file.path()).unwrap();
    assert_eq!(ring.holder(secret.reveal(), NOW), Err(Refusal::Unknown));
    let owner = ring.holder(TOKEN, NOW).unwrap();
    assert_eq!(
        (owner.id.as_ref(), &*owner.roles),
        (None, &[Grant::Administrator][..])
    );
    assert!(ring.still_holds(None, &owner.mark, NOW).is_ok());
    assert!(ring.still_holds(None, &[0; 32], NOW).is_err());
}

#[test]
fn the_first_key_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = ring(&folder);
    let secret = file.create_first(NOW).unwrap().unwrap();
    let holder = ring.holder(secret.reveal(), NOW).unwrap();
    assert_eq!(holder.roles, [Grant::Administrator]);
    assert!(file.create_first(NOW).unwrap().is_none());
    assert_eq!(file.read().unwrap().len(), 1);
}

#[test]
fn times_of_use_of_several_servers_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let (file, first) = ring(&folder);
    let second = KeyRing::open(folder.path().to_owned(), TOKEN);
    let (key, secret) = file.create(reader("a"), NOW).unwrap();
    assert!(!first.has_uses_to_write(NOW));
    first.holder(secret.reveal(), NOW + 5).unwrap();
    second.holder(secret.reveal(), NOW + 9).unwrap();
    assert!(first.has_uses_to_write(NOW + 5) && !first.has_uses_to_write(NOW + 6));
    second.write_uses().unwrap();
    first.write_uses().unwrap();
    assert_eq!(file.last_used().unwrap().get(&key.id), Some(&(NOW + 9)));
}

#[test]
fn keys_that_could_do_nothing_are_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = ring(&folder);
    let grants = [
        vec![],
        vec![Grant::Publisher { sources: vec![] }],
        vec![Grant::Builder {
            knowledge_sets: Some(vec![]),
        }],
    ];
    for roles in grants {
        let new = NewKey {
            roles,
            ..reader("a")
        };
        assert_eq!(
            file.create(new, NOW).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    assert!(file.create(reader(""), NOW).is_err() && !file.path().exists());
}
