//! Every page of the book is in its summary, and every link between pages leads to a page and a heading that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Looks at all pages.
pub(super) fn check(root: &Path, tracked: &[PathBuf], problems: &mut Vec<String>) -> Result<()> {
    let is_page = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "md");
    let mut pages = BTreeMap::new();
    for file in tracked.iter().filter(is_page).filter(|file| root.join(file).exists()) {
        pages.insert(file.clone(), fs::read_to_string(root.join(file))?);
    }
    for (page, text) in &pages {
        for link in links(text) {
            if let Err(problem) = leads_somewhere(root, page, &link, &pages) {
                problems.push(format!("{}: the link to {link} {problem}", page.display()));
            }
        }
    }
    let summary = pages.get(Path::new(SUMMARY)).map(|text| links(text)).unwrap_or_default();
    let listed: BTreeSet<PathBuf> = summary.iter().map(|link| Path::new("docs").join(link)).collect();
    for page in pages.keys().filter(|page| page.starts_with("docs") && *page != Path::new(SUMMARY)) {
        if !listed.contains(page) {
            problems
                .push(format!("{} is not in {SUMMARY}: nobody would find it in the book", page.display()));
        }
    }
    Ok(())
}

fn leads_somewhere(
    root: &Path,
    from: &Path,
    link: &str,
    pages: &BTreeMap<PathBuf, String>,
) -> Result<(), &'static str> {
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = match path {
        "" => from.to_owned(),
        path => plain(&from.parent().unwrap_or(from).join(path)),
    };
    if !root.join(&target).exists() {
        return Err("leads nowhere");
    }
    match (heading, pages.get(&target)) {
        (Some(heading), Some(text)) if !headings(text).contains(heading) => {
            Err("names no heading of that page")
        }
        _ => Ok(()),
    }
}

/// A path without detours.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The lines of a page that are not in a block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    })
}

/// Where the links of a page lead, those that leave the tree aside.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        // What stands in backquotes is shown and not followed.
        let line: String = line.split('`').step_by(2).collect();
        for rest in line.split("](").skip(1) {
            let Some((link, _)) = rest.split_once(')') else { continue };
            if !link.contains("://") && !link.contains(' ') {
                links.push(link.to_owned());
            }
        }
    }
    links
}

/// The headings of a page as links name them.
fn headings(text: &str) -> BTreeSet<String> {
    let title = |line: &str| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim().to_owned())
    };
    let mut slugs = Slugs::default();
    prose(text).filter_map(title).map(|title| slugs.of(&title)).collect()
}

/// Headings as links name them: of those that would have the same name, the later ones get a number.
#[derive(Default)]
pub(crate) struct Slugs(BTreeMap<String, usize>);

// === impl Slugs ===

impl Slugs {
    /// The next heading of the page.
    pub(crate) fn of(&mut self, title: &str) -> String {
        let slug = slug(title);
        let earlier = self.0.entry(slug.clone()).or_default();
        *earlier += 1;
        if *earlier == 1 { slug } else { format!("{slug}-{}", *earlier - 1) }
    }
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Who may, and what\n```sh\n# no heading [no](link.md)\n```\n[a](b.md#c-d) and [e](#who-may-and-what) [web](https://x) `[x](y)` [`z`](z.md)\n";

    #[test]
    fn links_and_headings_are_those_that_a_reader_sees() {
        assert_eq!(links(PAGE), ["b.md#c-d", "#who-may-and-what", "z.md"]);
        assert_eq!(headings(PAGE), BTreeSet::from(["who-may-and-what".to_owned()]));
        assert_eq!(slug("`safepoint run`, again"), "safepoint-run-again");
        assert_eq!(headings("# a b\n## a-b\n"), BTreeSet::from(["a-b".to_owned(), "a-b-1".to_owned()]));
        assert_eq!(plain(Path::new("docs/guides/../sdk.md")), Path::new("docs/sdk.md"));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let folder = std::env::temp_dir();
        let pages = BTreeMap::from([(PathBuf::from("docs/a.md"), PAGE.to_owned())]);
        let of = |link: &str| leads_somewhere(&folder, Path::new("docs/a.md"), link, &pages);
        assert_eq!(of("not-there-at-all.md"), Err("leads nowhere"));
    }
}
