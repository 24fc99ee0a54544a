//! From declarations to a supervisor: everything that can be wrong is found here, before anything starts.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    backoff::Jitter,
    clock::{Clock, WallClock, read_wall_clock},
    config::{Config, ConfigError},
    graph::{Graph, GraphError},
    machine::{Machine, Rules},
    module::{Module, Registered, Spec},
    record::Record,
    supervisor::Supervisor,
};

/// Collects the modules of a process; see [`Supervisor::builder`].
pub struct Builder {
    config: Config,
    modules: Vec<Registered>,
    record_dir: Option<PathBuf>,
    seed: u64,
    wall: WallClock,
}

/// Why there is no supervisor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The modules' dependencies cannot be followed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

// === impl Builder ===

impl Builder {
    pub(crate) fn new(config: Config) -> Self {
        // The hasher's keys are the only source of chance in the standard library that is not a clock.
        let seed = RandomState::new().hash_one("jitter");
        Self { config, modules: vec![], record_dir: None, seed, wall: Arc::new(read_wall_clock) }
    }

    /// Adds a module. The order does not matter, except among modules that do not depend on each other.
    pub fn module(mut self, module: impl Module) -> Self {
        self.modules.push(Registered::new(module));
        self
    }

    /// Keeps the last failures of each module in this directory. Without it they are
    /// forgotten with the process.
    pub fn record_failures_in(mut self, dir: impl Into<PathBuf>) -> Self {
        self.record_dir = Some(dir.into());
        self
    }

    /// Makes the jitter of waits repeatable.
    pub fn jitter_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Dates failures and next tries by another clock than that of the machine.
    pub fn wall_clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.wall = Arc::new(now);
        self
    }

    /// Checks everything. Reads the record of earlier failures, which is a small file.
    ///
    /// # Errors
    /// If dependencies form a circle or name modules that do not exist, or a value of
    /// the configuration is wrong.
    pub fn build(mut self) -> Result<Supervisor, BuildError> {
        let graph = Graph::sort(&mut self.modules, |module| &module.spec)?;
        let specs: Vec<Spec> = self.modules.iter().map(|module| module.spec.clone()).collect();
        let rules = Rules::of(&self.config, &specs)?;
        let clock = Clock::new(self.wall);
        let record = Record::open(self.record_dir.as_deref(), clock.now().wall);
        let slots = specs.into_iter().map(|spec| {
            let failures = record.of(spec.name);
            (spec, failures)
        });
        let machine = Machine::new(graph, slots.collect(), rules, Jitter::seeded(self.seed));
        Ok(Supervisor::new(self.modules, machine, record, clock))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<&Spec> = self.modules.iter().map(|module| &module.spec).collect();
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("modules", &modules)
            .finish_non_exhaustive()
    }
}

// === impl Rules ===

impl Rules {
    pub(crate) fn of(config: &Config, specs: &[Spec]) -> Result<Self, ConfigError> {
        let policies = config.policies(specs)?.into_iter().map(Arc::new).collect();
        Ok(Self { module_restart: config.feature_gates.module_restart, profile: config.profile, policies })
    }
}
