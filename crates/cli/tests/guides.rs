//! The guides, as they are written: every command in them is run, and says what the guide says that it does.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod guides {
    mod page;
    mod session;
    mod words;

    use std::fs;
    use std::path::{Path, PathBuf};

    use page::{Block, Page};
    use session::Session;

    fn docs() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
    }

    /// Does what a reader would do, from the first line to the last.
    fn follow(path: &str) {
        follow_in(Session::start(), path);
    }

    fn follow_in(mut session: Session, path: &str) {
        let page = Page::read(&docs().join(path));
        for block in &page.blocks {
            match block {
                Block::File { name, text } => session.save(name, text),
                Block::Console { steps, how, line } => {
                    for step in steps {
                        session.step(step, *how, &format!("{path}:{line}"));
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_page() {
        follow("../README.md");
    }

    #[test]
    fn the_five_minute_start() {
        follow("start.md");
    }

    #[test]
    #[ignore = "builds the program as it is released, which takes many minutes: run it before a release"]
    fn the_five_minute_start_with_nothing_but_cargo() {
        follow_in(Session::in_a_checkout(), "start.md");
    }

    #[test]
    fn the_command_line() {
        follow("cli.md");
    }

    #[test]
    fn what_to_do_when() {
        follow("operating.md");
    }

    #[test]
    fn a_drone() {
        follow("guides/drone.md");
    }

    #[test]
    fn a_robot_arm() {
        follow("guides/robot-arm.md");
    }

    #[test]
    fn coming_from_horizon() {
        follow("guides/coming-from-horizon.md");
    }

    #[test]
    fn coming_from_kubeedge() {
        follow("guides/coming-from-kubeedge.md");
    }

    #[test]
    fn coming_from_kusionstack() {
        follow("guides/coming-from-kusionstack.md");
    }

    #[test]
    fn coming_from_openyurt() {
        follow("guides/coming-from-openyurt.md");
    }

    #[test]
    fn every_page_with_commands_is_followed() {
        let mut pages = Vec::new();
        below(&docs(), "", &mut pages);
        let root = fs::read_dir(docs().join("..")).unwrap().map(|entry| entry.unwrap().file_name());
        pages.extend(root.map(|name| format!("../{}", name.to_str().unwrap())).filter(|name| is_page(name)));
        for page in pages {
            let is_guide = page.starts_with("guides/");
            let is_followed = include_str!("guides.rs").contains(&format!("follow(\"{page}\")"));
            assert!(
                is_followed || !(is_guide || page::promises(&docs().join(&page))),
                "{page} has commands that look as if they were run: follow it, or make them blocks of `text`"
            );
        }
    }

    /// The pages in a folder and in those in it, by their paths from the first one.
    fn below(folder: &Path, path: &str, pages: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = format!("{path}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                below(&entry.path(), &format!("{path}/"), pages);
            } else if is_page(&path) {
                pages.push(path);
            }
        }
    }

    fn is_page(name: &str) -> bool {
        Path::new(name).extension().is_some_and(|extension| extension == "md")
    }
}
