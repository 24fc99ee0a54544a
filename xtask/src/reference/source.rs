//! Where pages get their facts from: snapshots that tests keep true, and constants with what is said of them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// These crates are for tests.
const TESTING: [&str; 2] = ["testkit", "conformance"];

/// The text of a snapshot.
pub(super) fn snapshot(root: &Path, path: &str) -> Result<String> {
    let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    let body = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n"));
    Ok(body.with_context(|| format!("{path} is no snapshot"))?.1.to_owned())
}

/// A snapshot of JSON.
pub(super) fn json(root: &Path, path: &str) -> Result<Value> {
    serde_json::from_str(&snapshot(root, path)?).with_context(|| format!("{path} is not JSON"))
}

/// Every literal of the crates that are shipped which begins like this, with the file that has it. Tests are left out.
pub(super) fn literals(root: &Path, start: &str, goes_on: fn(char) -> bool) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for name in fs::read_dir(root.join("crates"))? {
        let folder = name?.path();
        if TESTING.iter().all(|name| !folder.ends_with(name)) {
            visit(&folder.join("src"), &mut |file, text| {
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                for rest in code.split(&format!("\"{start}")).skip(1) {
                    let end = rest.find(|letter| !goes_on(letter)).unwrap_or(rest.len());
                    found.push((format!("{start}{}", &rest[..end]), file.display().to_string()));
                }
            })?;
        }
    }
    Ok(found)
}

/// Every source below a folder, tests aside.
fn visit(folder: &Path, look: &mut dyn FnMut(&Path, &str)) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("tests") {
            visit(&path, look)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            look(&path, &fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Constants that belong together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The module, as a path below the file; empty for the file itself.
    pub(super) module: String,
    /// What is said of it.
    pub(super) about: String,
    pub(super) constants: Vec<Constant>,
}

/// A constant with what is said of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) name: String,
    /// As people write it, several with a comma between them.
    pub(super) value: String,
    pub(super) about: String,
}

/// The public constants of a file, by module. Tests are left out.
pub(super) fn constants(text: &str) -> Result<Vec<Group>> {
    let about = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let about = about.collect::<Vec<_>>().join("\n").trim().to_owned();
    let mut groups = vec![Group { about, ..Group::default() }];
    let mut said: Vec<&str> = Vec::new();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let (line, is_inside) = (line.trim(), line.starts_with(' '));
        if let Some(comment) = line.strip_prefix("///") {
            said.push(comment.trim());
            continue;
        }
        let about = std::mem::take(&mut said).join("\n");
        if let Some(module) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
            groups.push(Group { module: module.to_owned(), about, constants: Vec::new() });
        } else if let Some(rest) = line.strip_prefix("pub const ").filter(|rest| !rest.starts_with("fn ")) {
            let mut rest = rest.to_owned();
            while !rest.ends_with(';') {
                rest.push_str(lines.next().context("a constant ends")?.trim());
            }
            let group = match is_inside {
                true => groups.last_mut(),
                false => groups.first_mut(),
            };
            let constant = constant(&rest, about)?;
            group.context("there is one for the file")?.constants.push(constant);
        }
    }
    Ok(groups)
}

/// `NAME: TYPE = VALUE;`
fn constant(text: &str, about: String) -> Result<Constant> {
    let Some((name, value)) = text.trim_end_matches(';').split_once(" = ").or_else(|| {
        // The value may stand on the next line.
        text.trim_end_matches(';').split_once(" =")
    }) else {
        bail!("nobody understands the constant {text}")
    };
    let name = name.split(':').next().unwrap_or_default().to_owned();
    let value = match value.split('"').collect::<Vec<_>>().as_slice() {
        [number] => (*number).to_owned(),
        parts => parts.iter().skip(1).step_by(2).copied().collect::<Vec<_>>().join(", "),
    };
    Ok(Constant { name, value, about })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"//! Words.

/// Label. Written by
/// users.
pub const CONTROL: &str = "a/b";

/// Two.
pub const TWO: [&str; 2] =
    ["x", "y"];

/// Inside.
pub mod inner {
    /// The port.
    pub const PORT: u16 = 8510;
}

/// After.
pub const LAST: &str = "z";

#[cfg(test)]
mod tests { pub const NO: u8 = 1; }
"#;

    #[test]
    fn constants_are_found_with_what_is_said_of_them() {
        let groups = constants(SOURCE).unwrap();
        let all: Vec<_> = groups
            .iter()
            .flat_map(|group| group.constants.iter().map(move |it| (&*group.module, &*it.name, &*it.value)))
            .collect();
        assert_eq!(
            all,
            [("", "CONTROL", "a/b"), ("", "TWO", "x, y"), ("", "LAST", "z"), ("inner", "PORT", "8510")]
        );
        assert_eq!(groups[0].constants[0].about, "Label. Written by\nusers.");
        assert_eq!((&*groups[0].about, &*groups[1].about), ("Words.", "Inside."));
    }
}
