//! Whether a command says what a guide says that it does. Times, ages, numbers of processes and made-up names differ each time, and a
//! guide breaks long lines; `…` stands for whatever is left out.

/// Whether this is what was said.
pub(super) fn is_said(guide: &str, said: &str) -> bool {
    fits(&words(guide), &words(said))
}

fn words(text: &str) -> Vec<String> {
    let mut before = "";
    let word = |word| match std::mem::replace(&mut before, word) {
        // On a machine that has just begun it is short.
        "pid" => word.trim_start_matches(|letter: char| letter.is_ascii_digit()).to_owned(),
        _ => usual(word),
    };
    text.split_whitespace().map(word).collect()
}

fn fits(guide: &[String], said: &[String]) -> bool {
    match guide.split_first() {
        None => said.is_empty(),
        Some((first, rest)) if first == "…" => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        Some((first, rest)) => said.first() == Some(first) && fits(rest, &said[1..]),
    }
}

/// A word without what differs each time.
fn usual(word: &str) -> String {
    if is_token(word) {
        return "TOKEN".to_owned();
    }
    let mut usual = String::new();
    let mut run = String::new();
    for letter in word.chars() {
        match letter.is_alphanumeric() || matches!(letter, ':' | '.') {
            true => run.push(letter),
            // Within a moment it joins; in a name it is between two words.
            false if letter == '-' && run.len() <= 7 && run.starts_with("20") => run.push(letter),
            false => {
                usual.push_str(&kind(&std::mem::take(&mut run)));
                usual.push(letter);
            }
        }
    }
    usual + &kind(&run)
}

/// Whether these may be 32 octets of chance, as a token of `safepoint up` has them.
fn is_token(word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    word.len() == 43
        && word.chars().all(is_part)
        && word.contains(|letter: char| letter.is_ascii_uppercase())
        && word.contains(|letter: char| letter.is_ascii_lowercase())
}

fn kind(run: &str) -> String {
    // In JSON a number follows its field at once.
    if let Some(rest) = run.strip_prefix(':').filter(|rest| !rest.is_empty()) {
        return format!(":{}", kind(rest));
    }
    let digits = run.chars().take_while(char::is_ascii_digit).count();
    let is_hex =
        run.len() >= 6 && run.chars().all(|letter| letter.is_ascii_digit() || ('a'..='f').contains(&letter));
    match &run[digits..] {
        _ if run.starts_with("20") && run.contains('T') => "TIME".to_owned(),
        "s" | "m" | "h" | "ms" if digits > 0 => "AGE".to_owned(),
        rest if digits > 0 && rest.starts_with('m') && rest.ends_with('s') => "AGE".to_owned(),
        "" if digits > 2 => "NUMBER".to_owned(),
        // Some of what is made up has digits only.
        _ if is_hex => "NUMBER".to_owned(),
        _ => run.to_owned(),
    }
}

#[test]
fn what_differs_each_time_is_not_compared_and_everything_else_is() {
    assert!(is_said("frozen as freeze-4a9d0f795744", "frozen as freeze-40d31544affc"));
    assert!(is_said("hub hub-c3ae20ec", "hub hub-22454052"));
    assert!(is_said(
        "1  2026-11-15T19:33:53Z  by root (uid 0, pid 11791)",
        "1 2026-11-16T01:02:03Z by root (uid 0, pid 9)"
    ));
    assert!(is_said(
        "held for 2s (since 2026-11-15T19:33:53Z) because",
        "held for 1m3s (since 2026-11-16T19:33:53Z)\nbecause"
    ));
    assert!(is_said("a … d", "a b c d") && is_said("a …", "a") && is_said("… d", "a d"));
    assert!(is_said(r#"{"time":1794843338,"a":"b"}"#, r#"{"time":1794844189,"a":"b"}"#));
    assert!(is_said(
        "U3uF2iuMh1XI3HnpQdLlU006mZuhDd9jWOtH_9FnGTQ",
        "lr09_gQVgncVvuEt-7z3fz3XLvW5Iyee_ZnSlQxUy98"
    ));
    assert!(!is_said("U3uF2iuMh1XI3HnpQdLlU006mZuhDd9jWOtH_9FnGTQ", ""));
    assert!(!is_said("a … d", "a b c"));
    assert!(!is_said("navigator:v2", "navigator:v1"));
    assert!(!is_said("Held 1 change", "Held 2 changes"));
    assert!(!is_said("", "error: no"));
}
