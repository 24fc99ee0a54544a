//! Tokens over restarts, revocations and broken files.

use std::{fs, os::unix::fs::PermissionsExt};

use tempfile::TempDir;

use super::*;

const SERVER: &str = "https://127.0.0.1:6443";

struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pki")).unwrap();
        Self(folder)
    }

    fn open(&self) -> Tokens {
        self.try_open().unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_open(&self) -> Result<Tokens, IdentityError> {
        Tokens::open(self.0.path(), &self.0.path().join("pki"), "the CA")
    }

    fn list(&self) -> PathBuf {
        self.0.path().join("pki/tokens.json")
    }
}

fn token(kubeconfig: &Path, user: &str) -> String {
    let text = fs::read_to_string(kubeconfig).unwrap();
    Found::parse(&text).unwrap().token(user).unwrap().to_owned()
}

fn admins(kubeconfig: &Path) -> String {
    token(kubeconfig, "kubernetes-admin")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn whoever_has_the_kubeconfig_is_known() {
    let machine = Machine::new();
    let tokens = machine.open();
    let admin = tokens.admin(SERVER).unwrap();
    let node = tokens.node("rover-7", SERVER).unwrap();
    assert_eq!(tokens.user(&admins(&admin)), Some(User::admin()));
    assert_eq!(tokens.user(&token(&node, "system:node:rover-7")), Some(User::of_node("rover-7")));
    for other in ["", "x", &sha256(&admins(&admin))] {
        assert_eq!(tokens.user(other), None, "{other}");
    }
}

#[test]
fn tokens_survive_a_restart() {
    let machine = Machine::new();
    let admin = machine.open().admin(SERVER).unwrap();
    let (before, text) = (admins(&admin), fs::read_to_string(&admin).unwrap());
    let tokens = machine.open();
    assert_eq!(tokens.user(&before), Some(User::admin()));
    tokens.admin(SERVER).unwrap();
    assert_eq!(fs::read_to_string(&admin).unwrap(), text);
}

#[test]
fn a_token_has_256_bits_and_no_dots() {
    let machine = Machine::new();
    let token = admins(&machine.open().admin(SERVER).unwrap());
    assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(&token).unwrap().len(), 32);
}

#[test]
fn secrets_are_closed_to_others_and_the_list_has_none() {
    let machine = Machine::new();
    let tokens = machine.open();
    let (admin, node) = (tokens.admin(SERVER).unwrap(), tokens.node("rover-7", SERVER).unwrap());
    assert_eq!(admin, machine.0.path().join("kubeconfig"));
    assert_eq!(node, machine.0.path().join("nodes/rover-7.kubeconfig"));
    for secret in [&admin, &node, &machine.list()] {
        assert_eq!(mode(secret), 0o600, "{}", secret.display());
    }
    assert_eq!(mode(&machine.0.path().join("nodes")), 0o700);
    let list = fs::read_to_string(machine.list()).unwrap();
    assert!(!list.contains(&admins(&admin)));
    assert!(list.contains(&sha256(&admins(&admin))));
}

#[test]
fn a_kubeconfig_that_was_deleted_takes_its_token_with_it() {
    let machine = Machine::new();
    let tokens = machine.open();
    let admin = tokens.admin(SERVER).unwrap();
    let old = admins(&admin);
    fs::remove_file(&admin).unwrap();
    assert_eq!(tokens.user(&old), Some(User::admin()), "not before a new one is asked for");
    tokens.admin(SERVER).unwrap();
    assert_eq!(tokens.user(&old), None);
    assert_eq!(tokens.user(&admins(&admin)), Some(User::admin()));
    assert_eq!(machine.open().user(&old), None);
}

#[test]
fn another_server_is_written_with_the_same_token() {
    let machine = Machine::new();
    let tokens = machine.open();
    let admin = tokens.admin(SERVER).unwrap();
    let old = admins(&admin);
    tokens.admin("https://127.0.0.1:7443").unwrap();
    assert_eq!(admins(&admin), old);
    assert!(fs::read_to_string(&admin).unwrap().contains("https://127.0.0.1:7443"));
}

#[test]
fn a_kubeconfig_that_cannot_be_read_or_has_no_good_token_gets_a_new_one() {
    let machine = Machine::new();
    let tokens = machine.open();
    let admin = tokens.admin(SERVER).unwrap();
    let good = fs::read_to_string(&admin).unwrap();
    let node = token(&tokens.node("rover-7", SERVER).unwrap(), "system:node:rover-7");
    // Garbage, a token that nobody issued, and one that was issued to somebody else.
    for broken in
        ["]".to_owned(), good.replace(&admins(&admin), "made-up"), good.replace(&admins(&admin), &node)]
    {
        fs::write(&admin, broken).unwrap();
        tokens.admin(SERVER).unwrap();
        assert_eq!(tokens.user(&admins(&admin)), Some(User::admin()));
    }
    assert_eq!(tokens.user(&node), Some(User::of_node("rover-7")));
}

#[test]
fn a_node_does_not_keep_the_token_of_another() {
    let machine = Machine::new();
    let tokens = machine.open();
    let [seven, eight] = ["rover-7", "rover-8"].map(|node| tokens.node(node, SERVER).unwrap());
    let foreign = token(&eight, "system:node:rover-8");
    let text = fs::read_to_string(&seven).unwrap();
    fs::write(&seven, text.replace(&token(&seven, "system:node:rover-7"), &foreign)).unwrap();
    tokens.node("rover-7", SERVER).unwrap();
    let mended = token(&seven, "system:node:rover-7");
    assert_ne!(mended, foreign);
    assert_eq!(tokens.user(&mended), Some(User::of_node("rover-7")));
}

#[test]
fn a_token_that_is_listed_with_other_groups_is_replaced() {
    let machine = Machine::new();
    let path = machine.open().node("rover-7", SERVER).unwrap();
    let old = token(&path, "system:node:rover-7");
    let list = fs::read_to_string(machine.list()).unwrap();
    fs::write(machine.list(), list.replace("system:nodes", "system:masters")).unwrap();
    let tokens = machine.open();
    tokens.node("rover-7", SERVER).unwrap();
    assert_eq!(tokens.user(&old), None);
    assert_eq!(tokens.user(&token(&path, "system:node:rover-7")), Some(User::of_node("rover-7")));
}

#[test]
fn a_node_whose_token_was_revoked_is_unknown() {
    let machine = Machine::new();
    let tokens = machine.open();
    let path = tokens.node("rover-7", SERVER).unwrap();
    let other = token(&tokens.node("rover-8", SERVER).unwrap(), "system:node:rover-8");
    let revoked = token(&path, "system:node:rover-7");
    assert!(tokens.revoke("rover-7").unwrap());
    assert!(!tokens.revoke("rover-7").unwrap());
    assert!(!path.exists());
    for tokens in [tokens, machine.open()] {
        assert_eq!(tokens.user(&revoked), None);
        assert_eq!(tokens.user(&other), Some(User::of_node("rover-8")));
    }
}

#[test]
fn a_name_that_is_no_nodes_name_does_not_become_a_path() {
    let machine = Machine::new();
    let tokens = machine.open();
    for name in ["", ".", "..", "../kubeconfig", "a/b", "A", "-a", "a-", "a..b", "a b", &"a".repeat(254)] {
        assert!(matches!(tokens.node(name, SERVER), Err(IdentityError::NodeName { .. })), "{name}");
        assert!(matches!(tokens.revoke(name), Err(IdentityError::NodeName { .. })), "{name}");
    }
    tokens.node("rover-7.fleet.example", SERVER).unwrap();
}

#[test]
fn a_list_that_cannot_be_read_is_named_and_left_alone() {
    for broken in ["", "{}", "{\"tokens\":[{}]}", "{\"tokens\":[],\"more\":1}"] {
        let machine = Machine::new();
        fs::write(machine.list(), broken).unwrap();
        let error = machine.try_open().map(|_| ()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{} is not a list of tokens", machine.list().display())),
            "{error}"
        );
        assert_eq!(fs::read_to_string(machine.list()).unwrap(), broken);
    }
}

#[test]
fn a_list_that_is_gone_makes_all_tokens_unknown() {
    let machine = Machine::new();
    let admin = machine.open().admin(SERVER).unwrap();
    let old = admins(&admin);
    fs::remove_file(machine.list()).unwrap();
    let tokens = machine.open();
    assert_eq!(tokens.user(&old), None);
    tokens.admin(SERVER).unwrap();
    assert_ne!(admins(&admin), old);
}

#[test]
fn what_could_not_be_written_does_not_count() {
    let machine = Machine::new();
    let tokens = machine.open();
    let admin = tokens.admin(SERVER).unwrap();
    let old = admins(&admin);
    fs::remove_file(&admin).unwrap();
    // A folder in the place of the list lets the rename fail, also for root.
    fs::remove_file(machine.list()).unwrap();
    fs::create_dir(machine.list()).unwrap();
    assert!(matches!(tokens.admin(SERVER), Err(IdentityError::Write { .. })));
    assert!(!admin.exists());
    assert_eq!(tokens.user(&old), Some(User::admin()));
}
