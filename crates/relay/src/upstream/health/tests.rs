//! Beliefs, one lesson at a time.

use super::*;

const FIRST: usize = 0;
const SECOND: usize = 1;

fn two() -> Board {
    Board::new(["https://first:6443", "https://second:6443"].map(|uri| uri.parse().unwrap()))
}

fn silent() -> Lesson {
    Lesson::Silent("no answer".into())
}

fn refuses() -> Lesson {
    Lesson::Refuses("connection refused".into())
}

#[test]
fn at_first_nothing_is_known_and_the_first_server_is_tried() {
    let board = two();
    assert_eq!(*board.reachable().borrow(), Reachable::Unknown);
    assert_eq!(board.choose(&[]), Some(FIRST));
    assert_eq!(board.choose(&[(FIRST, silent())]), Some(SECOND));
    assert_eq!(board.choose(&[(FIRST, silent()), (SECOND, silent())]), None);
}

#[test]
fn one_lost_probe_changes_nothing_and_two_do() {
    let board = two();
    board.learn(FIRST, &Lesson::Answers);
    assert!(!board.learn(FIRST, &silent()));
    assert_eq!(board.choose(&[]), Some(FIRST));
    assert!(board.is_suspect(FIRST));
    assert!(board.learn(FIRST, &silent()));
    assert_eq!(board.choose(&[]), Some(SECOND), "nothing is known about the second");
}

#[test]
fn a_refused_connection_is_enough_and_so_is_an_answer() {
    let board = two();
    assert!(board.learn(FIRST, &refuses()));
    board.learn(FIRST, &Lesson::Answers);
    assert_eq!(board.choose(&[]), Some(FIRST));
    assert!(!board.is_suspect(FIRST));
}

#[test]
fn the_first_server_that_answers_is_preferred_and_comes_back() {
    let board = two();
    let reachable = board.reachable();
    board.learn(SECOND, &Lesson::Answers);
    assert_eq!(board.choose(&[]), Some(SECOND), "one that answers is better than one that may");
    board.learn(FIRST, &Lesson::Answers);
    assert_eq!(board.choose(&[]), Some(FIRST));
    board.learn(FIRST, &refuses());
    assert!(matches!(&*reachable.borrow(), Reachable::Yes { server } if server.host() == Some("second")));
    board.learn(FIRST, &Lesson::Answers);
    assert!(matches!(&*reachable.borrow(), Reachable::Yes { server } if server.host() == Some("first")));
}

#[test]
fn when_all_are_down_each_says_why() {
    let board = two();
    board.learn(FIRST, &refuses());
    assert_eq!(*board.reachable().borrow(), Reachable::Unknown, "the second may answer");
    board.learn(SECOND, &silent());
    board.learn(SECOND, &silent());
    let Reachable::No { why } = board.reachable().borrow().clone() else { panic!("nobody answers") };
    assert_eq!(why, "https://first:6443/: connection refused; https://second:6443/: no answer");
    assert_eq!(board.choose(&[]), None);
}

#[test]
fn a_server_that_is_ill_is_down_and_not_dead() {
    let board = two();
    board.learn(FIRST, &Lesson::Answers);
    assert!(!board.learn(FIRST, &Lesson::Ill("500".into())));
    assert!(!board.learn(FIRST, &Lesson::Ill("500".into())), "its streams may live on");
    assert_eq!(board.choose(&[]), Some(SECOND));
    assert!(board.learn(FIRST, &silent()), "until it is silent");
}

#[test]
fn a_server_that_is_busy_is_neither_better_nor_worse() {
    let board = two();
    board.learn(FIRST, &silent());
    board.learn(FIRST, &Lesson::Busy);
    assert!(board.is_suspect(FIRST));
    assert!(board.learn(FIRST, &silent()));
}

#[test]
fn probes_of_a_server_that_is_away_become_rarer_up_to_a_limit() {
    let (board, pace) = (two(), Pace::default());
    let mut pauses = Vec::new();
    for _ in 0..8 {
        board.learn(FIRST, &refuses());
        pauses.push(board.pause(FIRST, &refuses(), &pace).as_secs());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 10, 10, 10, 10]);
    for _ in 0..1000 {
        board.learn(FIRST, &silent());
    }
    assert_eq!(board.pause(FIRST, &silent(), &pace), pace.away_longest);
    board.learn(FIRST, &Lesson::Answers);
    assert_eq!(board.pause(FIRST, &Lesson::Answers, &pace), pace.healthy);
}

#[test]
fn the_second_opinion_on_silence_is_not_waited_for() {
    let (board, pace) = (two(), Pace::default());
    board.learn(FIRST, &silent());
    assert_eq!(board.pause(FIRST, &silent(), &pace), Duration::ZERO);
    board.learn(SECOND, &Lesson::Ill("500".into()));
    assert_eq!(board.pause(SECOND, &Lesson::Ill("500".into()), &pace), pace.away);
}
