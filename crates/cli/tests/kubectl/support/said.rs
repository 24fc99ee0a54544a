//! What kubectl said, and how it is compared.

/// How a command ended.
pub(crate) struct Said {
    /// The command, as it would be typed.
    pub(crate) command: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// What was printed, if it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "kubectl {} failed:\n{}{}", self.command, self.out, self.err);
        self.out
    }

    /// What was complained about, if it failed.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.code, Some(1), "kubectl {} did not fail:\n{}{}", self.command, self.out, self.err);
        self.err
    }
}

/// A table, compared word by word: the widths of columns do not matter, and `*` is any word, or any part of one, such as
/// an age.
#[track_caller]
pub(crate) fn assert_table(actual: &str, expected: &[&str]) {
    let same = |actual: &str, expected: &str| {
        let (actual, expected) = (actual.split_whitespace(), expected.split_whitespace());
        actual.clone().count() == expected.clone().count()
            && actual.zip(expected).all(|(actual, expected)| match expected.split_once('*') {
                Some((start, end)) => actual.starts_with(start) && actual.ends_with(end),
                None => actual == expected,
            })
    };
    let lines: Vec<&str> = actual.lines().filter(|line| !line.is_empty()).collect();
    let equal = lines.len() == expected.len()
        && lines.iter().zip(expected).all(|(actual, expected)| same(actual, expected));
    assert!(equal, "expected\n{}\nbut it is\n{actual}", expected.join("\n"));
}

#[track_caller]
pub(crate) fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "there is no {part:?} in\n{text}");
}

#[track_caller]
pub(crate) fn assert_lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "there should be no {part:?} in\n{text}");
}
