//! What hooks want the user to know, whatever they decide.

/// Texts for the `Warning` headers of an answer, each once and in the order they came.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    texts: Vec<String>,
}

impl Warnings {
    /// Up to so many characters in all, every warning is told in full.
    const TOTAL: usize = 4 * 1024;
    /// Beyond it every one is cut to so many.
    const EACH: usize = 256;

    pub(crate) fn add(&mut self, text: String) {
        // A header cannot hold control characters; Kubernetes drops such a warning as well.
        let tellable = !text.is_empty() && !text.contains(char::is_control);
        if tellable && !self.texts.contains(&text) {
            self.texts.push(text);
        }
    }

    /// The texts, cut where they would be too much for the headers of an answer.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let length = |text: &String| text.chars().count();
        if self.texts.iter().map(length).sum::<usize>() <= Self::TOTAL {
            return self.texts;
        }
        let mut written = 0;
        let cut = |text: String| {
            // The one that passes the limit is still told, as in Kubernetes.
            let fits = written < Self::TOTAL;
            let text: String = text.chars().take(Self::EACH).collect();
            written += text.chars().count();
            fits.then_some(text)
        };
        self.texts.into_iter().filter_map(cut).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Warnings;

    fn told(texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut warnings = Warnings::default();
        texts.into_iter().for_each(|text| warnings.add(text));
        warnings.into_texts()
    }

    #[test]
    fn a_warning_is_told_once() {
        assert_eq!(told(["a", "b", "a"].map(String::from)), ["a", "b"]);
    }

    #[test]
    fn what_a_header_cannot_hold_is_left_out() {
        assert_eq!(told(["", "two\nlines", "ünïcode"].map(String::from)), ["ünïcode"]);
    }

    #[test]
    fn a_long_warning_is_told_in_full_while_there_is_room() {
        assert_eq!(told(["x".repeat(4096)])[0].len(), 4096);
    }

    #[test]
    fn too_many_long_warnings_are_cut_and_then_left_out() {
        let texts = told((0..100).map(|i| format!("{i:03}{}", "é".repeat(997))));
        assert_eq!(texts.len(), 16);
        assert!(texts.iter().all(|text| text.chars().count() == 256));
    }
}
