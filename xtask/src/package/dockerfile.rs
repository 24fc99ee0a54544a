//! The part of a Dockerfile that an image from nothing needs. Whatever else stands in one is refused: an image that leaves out what
//! its Dockerfile says would be another image.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

/// A file of the context, and where it goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) from: String,
    pub(super) to: String,
    /// As `chmod` takes it.
    pub(super) mode: String,
}

/// What a Dockerfile says.
#[derive(Debug, Default)]
pub(super) struct Dockerfile {
    pub(super) copied: Vec<Copied>,
    /// `config` of the image's configuration.
    pub(super) config: Map<String, Value>,
}

// === impl Dockerfile ===

impl Dockerfile {
    /// Reads one.
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut read = Self::default();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        ensure!(lines.next() == Some("FROM scratch"), "the Dockerfile does not begin with `FROM scratch`");
        for line in lines {
            let (instruction, rest) = line.split_once(' ').unwrap_or((line, ""));
            read.instruction(instruction, rest.trim()).with_context(|| format!("in the line `{line}`"))?;
        }
        Ok(read)
    }

    fn instruction(&mut self, instruction: &str, rest: &str) -> Result<()> {
        match instruction {
            "COPY" => {
                let words: Vec<_> = rest.split_whitespace().collect();
                let [mode, from, to] = words[..] else { bail!("COPY is `COPY --chmod=MODE FILE PATH` here") };
                let mode = mode.strip_prefix("--chmod=").context("the mode of what is copied is missing")?;
                ensure!(to.starts_with('/'), "{to} does not begin at the root");
                self.copied.push(Copied { from: from.to_owned(), to: to.to_owned(), mode: mode.to_owned() });
            }
            "ENV" => {
                ensure!(rest.contains('=') && !rest.contains(['"', ' ']), "ENV is `ENV NAME=VALUE` here");
                let variables = self.config.entry("Env").or_insert_with(|| json!([]));
                variables.as_array_mut().context("variables are a list")?.push(rest.into());
            }
            "LABEL" => {
                for pair in rest.split_whitespace() {
                    let (name, value) =
                        pair.split_once('=').context("LABEL is `LABEL NAME=\"VALUE\" …` here")?;
                    let labels = self.config.entry("Labels").or_insert_with(|| json!({}));
                    labels[name] = value.trim_matches('"').into();
                }
            }
            "USER" => drop(self.config.insert("User".to_owned(), rest.into())),
            "ENTRYPOINT" => {
                let words: Vec<String> =
                    serde_json::from_str(rest).context("ENTRYPOINT is a list of words here")?;
                self.config.insert("Entrypoint".to_owned(), words.into());
            }
            other => bail!("{other} is not known here: teach it to xtask/src/package/dockerfile.rs"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Copied, Dockerfile};

    #[test]
    fn what_a_dockerfile_says_is_in_the_configuration() {
        let text = "# why\nFROM scratch\nLABEL one=\"1\" two=\"2\"\nCOPY --chmod=755 app /bin/app\n\
                    ENV PATH=/bin\nENV A=b\nUSER 7:8\nENTRYPOINT [\"/bin/app\", \"run\"]\n";
        let read = Dockerfile::read(text).unwrap();
        let copied = Copied { from: "app".into(), to: "/bin/app".into(), mode: "755".into() };
        assert_eq!(read.copied, [copied]);
        let config = json!({
            "Labels": { "one": "1", "two": "2" },
            "Env": ["PATH=/bin", "A=b"],
            "User": "7:8",
            "Entrypoint": ["/bin/app", "run"],
        });
        assert_eq!(serde_json::Value::from(read.config), config);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for (line, problem) in [
            ("RUN make", "RUN is not known here"),
            ("COPY app /bin/app", "COPY is `COPY --chmod=MODE FILE PATH` here"),
            ("COPY --chmod=755 app bin/app", "does not begin at the root"),
            ("ENTRYPOINT /bin/app", "ENTRYPOINT is a list of words here"),
        ] {
            let error = Dockerfile::read(&format!("FROM scratch\n{line}\n")).unwrap_err();
            let said = format!("{error:#}");
            assert!(said.contains(line) && said.contains(problem), "{said}");
        }
        assert!(Dockerfile::read("FROM debian\n").is_err());
    }
}
