//! Files, their folders and their ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{read, remove, write};

#[test]
fn a_file_is_replaced_as_a_whole_and_leaves_no_draft() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b/record");
    write(&path, b"a long first text").unwrap();
    write(&path, b"second").unwrap();
    assert_eq!(read(&path).unwrap().as_deref(), Some("second"));
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["record"]);
}

#[test]
fn nobody_else_may_read_what_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("pods/record");
    write(&path, b"secret").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(home.path().join("pods")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_is_not_there_is_removed_already() {
    let home = tempfile::tempdir().unwrap();
    remove(&home.path().join("nothing")).unwrap();
    assert_eq!(read(&home.path().join("nothing")).unwrap(), None);
}
