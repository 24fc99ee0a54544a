//! All cases, by theme.

mod admission;
mod bookmarks;
mod config;
mod controllers;
mod create;
mod definitions;
mod delete;
mod discovery;
mod dry_run;
mod gadgets;
mod grace;
mod hooks;
mod identity;
mod kinds;
mod list;
mod namespaces;
mod negotiation;
mod objects;
mod patch;
mod pod_life;
mod pods;
mod rules;
mod selectors;
mod strategic;
mod subresources;
mod watch;

use crate::case::Case;

/// Every case of the suite.
#[must_use]
pub fn cases() -> Vec<Case> {
    [
        // They wait longest, so they begin first.
        controllers::cases(),
        create::cases(),
        objects::cases(),
        patch::cases(),
        strategic::cases(),
        list::cases(),
        selectors::cases(),
        watch::cases(),
        bookmarks::cases(),
        delete::cases(),
        dry_run::cases(),
        negotiation::cases(),
        pods::cases(),
        pod_life::cases(),
        config::cases(),
        kinds::cases(),
        namespaces::cases(),
        identity::cases(),
        definitions::cases(),
        gadgets::cases(),
        subresources::cases(),
        discovery::cases(),
        admission::cases(),
        grace::cases(),
        rules::cases(),
        hooks::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::cases;

    #[test]
    fn no_two_cases_have_the_same_name() {
        let names: HashSet<_> = cases().iter().map(crate::Case::name).collect();
        assert_eq!(names.len(), cases().len());
    }

    #[test]
    fn a_name_is_a_theme_and_a_sentence() {
        for case in cases() {
            let (theme, sentence) = case.name().split_once("::").expect("a theme");
            assert!(!theme.is_empty() && sentence.contains('_'), "{}", case.name());
        }
    }
}
