//! Lines, parts of lines, and full files.

use std::fs;

use super::*;

fn texts(path: &std::path::Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn lines_are_put_together_from_pieces_by_stream() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let mut log = Log::open(path.clone(), Logs::default()).unwrap();
    log.take(Stream::Stdout, b"on");
    log.take(Stream::Stderr, b"err\n");
    log.take(Stream::Stdout, b"e\n\ntwo\nthr");
    log.finish();
    assert_eq!(texts(&path), ["stderr F err", "stdout F one", "stdout F ", "stdout F two", "stdout F thr"]);
}

#[test]
fn a_line_that_is_too_long_comes_in_parts() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let mut log = Log::open(path.clone(), Logs::default()).unwrap();
    let mut long = vec![b'x'; LONGEST + 5];
    long.push(b'\n');
    log.take(Stream::Stdout, &long);
    let lines = texts(&path);
    assert_eq!((lines[0].len(), lines[1].as_str()), (LONGEST + "stdout P ".len(), "stdout F xxxxx"));
    assert!(lines[0].starts_with("stdout P x"));
}

#[test]
fn a_full_file_is_put_aside_and_the_oldest_goes() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let mut log = Log::open(path.clone(), Logs { bytes: 100, files: 2 }).unwrap();
    for n in 0..10 {
        log.take(Stream::Stdout, format!("line {n}\n").as_bytes());
    }
    let mut names: Vec<_> =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["log", "log.1"]);
    assert!(texts(&path).last().unwrap().ends_with("line 9"));
    assert!(fs::metadata(path).unwrap().len() <= 100);
}
