//! Several sources, the best first: whoever sees when it begins is asked from then on.
//!
//! The kubelet knows whether a pod is ready, the runtime only that it runs. So a kubelet that does not answer for a moment is
//! waited for; one that goes on being silent, as after the API server that vouches for our token is gone, is not.

use super::{Blind, Looking, Source, Wanted};

/// How often in a row the source that was asked so far may be blind.
const PATIENCE: u32 = 6;

/// The first of some sources that sees.
pub struct FirstOf {
    sources: Vec<Box<dyn Source>>,
    /// Which one is asked, and how often in a row it was blind.
    asked: Option<(usize, u32)>,
}

// === impl FirstOf ===

impl FirstOf {
    /// These sources, the best first.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        Self { sources, asked: None }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}

impl std::fmt::Debug for FirstOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FirstOf").field(&self.name()).finish()
    }
}

impl Source for FirstOf {
    fn name(&self) -> String {
        self.sources.iter().map(|it| it.name()).collect::<Vec<_>>().join(", else ")
    }

    fn look<'a>(&'a mut self, wanted: &'a Wanted) -> Looking<'a> {
        Box::pin(async move {
            if let Some((number, missed)) = self.asked {
                match self.sources[number].look(wanted).await {
                    Ok(seen) => {
                        self.asked = Some((number, 0));
                        return Ok(seen);
                    }
                    Err(blind) if missed < PATIENCE => {
                        self.asked = Some((number, missed + 1));
                        return Err(blind);
                    }
                    Err(_) => self.asked = None,
                }
            }
            let mut why = Vec::new();
            for (number, source) in self.sources.iter_mut().enumerate() {
                match source.look(wanted).await {
                    Ok(seen) => {
                        self.asked = Some((number, 0));
                        return Ok(seen);
                    }
                    Err(Blind(reason)) => why.push(format!("{}: {reason}", source.name())),
                }
            }
            Err(Blind(if why.is_empty() { "nobody can be asked".to_owned() } else { why.join("; ") }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FirstOf, PATIENCE};
    use crate::names::PodKey;
    use crate::verify::{PodSeen, Source, Told, Wanted};

    fn wanted() -> Wanted {
        Wanted { key: PodKey::new("default", "a").unwrap(), node: None, containers: Vec::new() }
    }

    fn runtime() -> Box<dyn Source> {
        Box::new(Told::new("runtime", |_: &Wanted| Ok(vec![PodSeen::default()])))
    }

    #[tokio::test]
    async fn the_second_is_asked_when_the_first_is_blind_from_the_beginning() {
        let blind = || Box::new(Told::new("kubelet", |_: &Wanted| Err("refused".to_owned())));
        let mut both = FirstOf::new(vec![blind(), runtime()]);
        assert_eq!(both.look(&wanted()).await.unwrap().len(), 1);
        assert_eq!(both.name(), "kubelet, else runtime");
        let said = FirstOf::new(vec![blind()]).look(&wanted()).await.unwrap_err();
        assert_eq!(said.to_string(), "kubelet: refused");
    }

    #[tokio::test]
    async fn one_that_is_blind_for_a_moment_is_waited_for_and_one_that_stays_so_is_not() {
        let mut looks = 0;
        let first = Told::new("kubelet", move |_: &Wanted| {
            looks += 1;
            if looks == 1 { Ok(Vec::new()) } else { Err("restarting".to_owned()) }
        });
        let mut both = FirstOf::new(vec![Box::new(first), runtime()]);
        assert!(both.look(&wanted()).await.unwrap().is_empty());
        for _ in 0..PATIENCE {
            assert!(both.look(&wanted()).await.is_err());
        }
        assert_eq!(both.look(&wanted()).await.unwrap().len(), 1);
    }
}
