//! Which module needs which, checked before anything starts.
//!
//! ```text
//! uplink ──after──► journal        uplink starts once the journal is ready, and survives its restarts
//! door ──requires─► journal        door does so as well, and is torn down and started again with the journal
//! ```

use crate::module::Spec;

/// The checked dependencies. Modules are numbered in the order they start in: what a module needs has a
/// smaller number than the module itself, so that walking backwards is the order to stop in.
#[derive(Debug)]
pub(crate) struct Graph {
    /// For each module, everything it starts after, required or not.
    needs: Vec<Vec<usize>>,
    /// For each module, only what it is restarted together with.
    requires: Vec<Vec<usize>>,
}

/// Dependencies that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two modules would share one state, one policy and one history of failures.
    #[error("two modules are called `{name}`: rename one of them")]
    Duplicate {
        /// The name in question.
        name: &'static str,
    },
    /// A dependency that was never registered, or was misspelt.
    #[error(
        "module `{module}` depends on `{missing}`, which does not exist: register it or correct the name"
    )]
    Unknown {
        /// The module with the dependency.
        module: &'static str,
        /// What it depends on.
        missing: &'static str,
    },
    /// None of them could ever start.
    #[error("modules wait for each other in a circle: {}; remove a dependency", .path.join(" -> "))]
    Cycle {
        /// The way around, beginning and ending with the same module.
        path: Vec<&'static str>,
    },
}

// === impl Graph ===

impl Graph {
    /// Sorts the modules into the order they start in (as registered, where dependencies leave a choice).
    /// `spec_of` says what a module declares, so that whatever carries a [`Spec`] can be sorted.
    pub(crate) fn sort<M>(modules: &mut Vec<M>, spec_of: impl Fn(&M) -> &Spec) -> Result<Self, GraphError> {
        for (index, module) in modules.iter().enumerate() {
            let name = spec_of(module).name;
            if modules[..index].iter().any(|other| spec_of(other).name == name) {
                return Err(GraphError::Duplicate { name });
            }
        }
        for module in modules.iter().map(&spec_of) {
            for missing in module.needs() {
                if !modules.iter().any(|other| spec_of(other).name == missing) {
                    return Err(GraphError::Unknown { module: module.name, missing });
                }
            }
        }
        let mut sorted: Vec<M> = Vec::with_capacity(modules.len());
        while !modules.is_empty() {
            let placed = |name: &str| sorted.iter().any(|module| spec_of(module).name == name);
            match modules.iter().position(|module| spec_of(module).needs().all(placed)) {
                Some(next) => sorted.push(modules.remove(next)),
                None => {
                    return Err(GraphError::Cycle {
                        path: circle(&modules.iter().map(&spec_of).collect::<Vec<_>>()),
                    });
                }
            }
        }
        *modules = sorted;
        let number = |name| modules.iter().position(|module| spec_of(module).name == name);
        Ok(Self {
            needs: modules
                .iter()
                .map(|module| spec_of(module).needs().filter_map(number).collect())
                .collect(),
            requires: modules
                .iter()
                .map(|module| spec_of(module).requires.iter().copied().filter_map(number).collect())
                .collect(),
        })
    }

    /// What must be ready before `id` may start.
    pub(crate) fn needs(&self, id: usize) -> &[usize] {
        &self.needs[id]
    }

    /// The modules that depend on `id`, directly or through others.
    pub(crate) fn dependents(&self, id: usize) -> Vec<usize> {
        reach(&self.needs, id)
    }

    /// The modules that are restarted when `id` is, directly or through others.
    pub(crate) fn restarted_with(&self, id: usize) -> Vec<usize> {
        reach(&self.requires, id)
    }
}

/// Everything from which `id` can be reached along `edges`.
fn reach(edges: &[Vec<usize>], id: usize) -> Vec<usize> {
    let mut reached = vec![];
    // One pass is enough: an edge always leads to a smaller number.
    for (other, targets) in edges.iter().enumerate().skip(id + 1) {
        if targets.iter().any(|target| *target == id || reached.contains(target)) {
            reached.push(other);
        }
    }
    reached
}

/// Finds a circle among modules that each need another one of them.
fn circle(stuck: &[&Spec]) -> Vec<&'static str> {
    let mut path: Vec<&'static str> = vec![stuck[0].name];
    loop {
        let here = stuck.iter().find(|spec| spec.name == path[path.len() - 1]);
        let next = here
            .and_then(|spec| spec.needs().find(|name| stuck.iter().any(|other| other.name == *name)))
            .expect("a module that cannot be placed needs another one that cannot be placed");
        if let Some(start) = path.iter().position(|name| *name == next) {
            path.push(next);
            return path.split_off(start);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut specs: Vec<Spec>) -> Result<Vec<&'static str>, GraphError> {
        Graph::sort(&mut specs, |spec| spec)?;
        Ok(specs.iter().map(|spec| spec.name).collect())
    }

    #[test]
    fn modules_are_sorted_by_need_and_otherwise_keep_the_order_they_were_registered_in() {
        let specs = vec![
            Spec::new("door").requires(["gate"]),
            Spec::new("api"),
            Spec::new("gate").after(["journal"]),
            Spec::new("journal"),
        ];
        assert_eq!(sorted(specs).unwrap(), ["api", "journal", "gate", "door"]);
    }

    #[test]
    fn a_circle_is_refused_and_spelt_out() {
        let specs = vec![
            Spec::new("journal"),
            Spec::new("api").after(["gate"]),
            Spec::new("gate").after(["journal", "door"]),
            Spec::new("door").requires(["gate"]),
        ];
        let error = sorted(specs).unwrap_err();
        assert_eq!(error, GraphError::Cycle { path: vec!["gate", "door", "gate"] });
        assert!(error.to_string().contains("gate -> door -> gate"));
        assert!(matches!(sorted(vec![Spec::new("a").after(["a"])]), Err(GraphError::Cycle { .. })));
    }

    #[test]
    fn a_dependency_that_does_not_exist_is_refused() {
        let error = sorted(vec![Spec::new("uplink").after(["jounral"])]).unwrap_err();
        assert_eq!(error, GraphError::Unknown { module: "uplink", missing: "jounral" });
    }

    #[test]
    fn two_modules_of_one_name_are_refused() {
        let error = sorted(vec![Spec::new("uplink"), Spec::new("uplink")]).unwrap_err();
        assert_eq!(error, GraphError::Duplicate { name: "uplink" });
    }

    #[test]
    fn a_restart_takes_those_that_require_the_module_with_it_but_not_those_that_only_come_after() {
        let mut specs = vec![
            Spec::new("journal"),
            Spec::new("gate").requires(["journal"]),
            Spec::new("door").requires(["gate"]),
            Spec::new("uplink").after(["journal"]),
        ];
        let graph = Graph::sort(&mut specs, |spec| spec).unwrap();
        assert_eq!(graph.restarted_with(0), [1, 2]);
        assert_eq!(graph.dependents(0), [1, 2, 3]);
    }
}
