//! Whose credentials go where.

use super::{Auths, full_name};

fn users(auths: &Auths, image: &str) -> Vec<String> {
    auths.of(image).into_iter().map(|it| it.username).collect()
}

#[test]
fn what_fits_best_comes_first_and_what_does_not_fit_is_never_shown() {
    let auths = Auths::parse(
        r#"{"auths": {
            "registry.example": {"username": "host", "password": "1"},
            "registry.example/team": {"auth": "dGVhbTpzZWNyZXQ="},
            "*.example": {"username": "any", "password": "2"},
            "https://index.docker.io/v1/": {"username": "hub", "password": "3"},
            "empty.example": {}
        }, "credHelpers": {"gcr.io": "gcloud"}}"#,
    )
    .unwrap();
    assert_eq!(users(&auths, "registry.example/team/app:v1"), ["team", "host", "any"]);
    assert_eq!(users(&auths, "registry.example/teams/app"), ["host", "any"]);
    assert_eq!(users(&auths, "other.example/app@sha256:00"), ["any"]);
    assert_eq!(users(&auths, "registry.example.evil/app"), Vec::<String>::new());
    assert_eq!(users(&auths, "nginx"), ["hub"]);
    assert_eq!(auths.of("registry.example/team/app")[0].password, "secret");
}

#[test]
fn names_of_images_are_completed_as_runtimes_do() {
    assert_eq!(full_name("nginx:1.27"), "docker.io/library/nginx");
    assert_eq!(full_name("team/app"), "docker.io/team/app");
    assert_eq!(full_name("localhost/app:v1"), "localhost/app");
    assert_eq!(full_name("registry:5000/app:v1@sha256:00"), "registry:5000/app");
}

#[test]
fn secrets_are_not_printed() {
    let auths = Auths::parse(r#"{"auths": {"a": {"username": "me", "password": "hunter2"}}}"#).unwrap();
    let shown = format!("{auths:?}");
    assert!(shown.contains("me") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_file_that_is_not_there_has_no_credentials_and_a_broken_one_is_said() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.json");
    assert!(users(&Auths::read(&path).unwrap(), "nginx").is_empty());
    std::fs::write(&path, "secret but no JSON").unwrap();
    let said = Auths::read(&path).unwrap_err().to_string();
    assert!(said.contains("config.json") && !said.contains("secret"), "{said}");
}
