//! Which folder wins.

use std::ffi::OsString;
use std::path::Path;

use super::{Assets, locate, version};

fn located(variables: &[(&str, &str)]) -> Assets {
    let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
    locate(|name| find(name).map(|(_, value)| OsString::from(value))).unwrap()
}

#[test]
fn programs_of_the_user_come_first_and_are_not_trusted_to_end_by_themselves() {
    let assets =
        located(&[("KUBEBUILDER_ASSETS", "/envtest"), ("SAFEPOINT_KUBERNETES", "/ours"), ("HOME", "/u")]);
    assert_eq!((assets.folder(), assets.leashed), (Path::new("/envtest"), false));
}

#[test]
fn a_named_build_comes_before_the_cache() {
    let assets = located(&[("SAFEPOINT_KUBERNETES", "/ours"), ("HOME", "/u")]);
    assert_eq!((assets.folder(), assets.leashed), (Path::new("/ours"), true));
}

#[test]
fn the_cache_is_under_home_unless_the_environment_says_otherwise() {
    let start = |variables: &[_]| located(variables).folder().to_owned();
    assert!(start(&[("HOME", "/u")]).starts_with("/u/.cache/safepoint/kubernetes"));
    assert!(start(&[("HOME", "/u"), ("XDG_CACHE_HOME", "/x")]).starts_with("/x/safepoint/kubernetes"));
    assert!(start(&[("XDG_CACHE_HOME", "/x"), ("SAFEPOINT_CACHE", "/s")]).starts_with("/s/kubernetes"));
    assert!(start(&[("HOME", "/u"), ("SAFEPOINT_CACHE", "")]).starts_with("/u/.cache"), "empty is unset");
}

#[test]
fn a_build_is_named_after_its_version() {
    let folder = located(&[("HOME", "/u")]).folder().to_owned();
    assert!(folder.parent().unwrap().file_name().unwrap().to_string_lossy().starts_with(version()));
    assert!(version().starts_with("v1."));
}

#[test]
fn a_missing_program_is_an_error_that_says_how_to_get_it() {
    let said = |variables: &[_]| located(variables).program("kubelet").unwrap_err().to_string();
    assert!(said(&[("SAFEPOINT_KUBERNETES", "/nowhere")]).contains("`cargo xtask kubernetes build`"));
    assert!(said(&[("KUBEBUILDER_ASSETS", "/nowhere")]).contains("unset KUBEBUILDER_ASSETS"));
}

#[test]
fn without_any_home_the_error_names_the_variable_to_set() {
    assert!(locate(|_| None).unwrap_err().to_string().contains("SAFEPOINT_CACHE"));
}
