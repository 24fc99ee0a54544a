//! Taking an order: what is wanted is parsed, checked and written down before anything follows from it.

use std::sync::Arc;

use serde_json::Value;
use tracing::warn;

use super::{
    AGAIN, POD, PodTask,
    memory::Memory,
    unit::{Life, Role, Unit},
};
use crate::{
    Found, Wanted, durable, launch,
    runtime::Shared,
    spec::{Container, Pod, Surroundings, check},
};

impl PodTask {
    /// Reads what the folder knows.
    pub(super) fn load(shared: Arc<Shared>, uid: &str) -> Self {
        let folder = shared.pod_folder(uid);
        let found: Option<Found> = durable::read_json(&folder.join(POD)).unwrap_or_default();
        let (sender, events) = tokio::sync::mpsc::unbounded_channel();
        let mut task = Self {
            shared,
            uid: uid.to_owned(),
            memory: Memory::load(&folder),
            saved: Memory::default(),
            folder,
            wanted: None,
            found: None,
            pod: Arc::default(),
            problems: Vec::new(),
            units: Vec::new(),
            volumes: Ok(()),
            volumes_fresh: false,
            leftover: Vec::new(),
            strays: Vec::new(),
            events,
            sender,
            tasks: tokio::task::JoinSet::new(),
            wake: None,
            reported: None,
        };
        if let Some(found) = found {
            task.read(&found.manifest);
            task.found = Some(found);
        }
        if !task.memory.initialized {
            let attempts = task.units.iter().filter_map(|unit| {
                // Of this boot is only what ended in it; a run that goes on is of this boot as well.
                let folder = unit.run_folder()?;
                let started: crate::record::Started =
                    durable::read_json(&folder.path(crate::record::STARTED)).ok()??;
                (started.boot != crate::process::boot_id())
                    .then(|| Some((unit.name.clone(), unit.attempt?)))?
            });
            let attempts: Vec<_> = attempts.collect();
            task.memory.note_earlier(attempts.into_iter());
        }
        task
    }

    /// Makes `wanted` the order. Repeating one changes nothing.
    pub(super) async fn accept(&mut self, wanted: Option<Wanted>) {
        let Some(wanted) = wanted else { return };
        let old = self.wanted.as_ref();
        let same_manifest = match (old, &self.found) {
            (Some(old), _) => Arc::ptr_eq(&old.manifest, &wanted.manifest) || old.manifest == wanted.manifest,
            (None, Some(found)) => found.manifest == wanted.manifest,
            (None, None) => false,
        };
        if !same_manifest || !old.is_some_and(|old| old.configs == wanted.configs) {
            self.volumes_fresh = false;
        }
        if !same_manifest {
            self.read(&wanted.manifest);
        } else if let Some(found) = &mut self.found {
            // One copy is enough.
            found.manifest = wanted.manifest.clone();
        }
        let record = Found {
            namespace: wanted.namespace.clone(),
            name: wanted.name.clone(),
            uid: wanted.uid.clone(),
            version: wanted.version.clone(),
            manifest: wanted.manifest.clone(),
            ending: wanted.ending,
        };
        self.wanted = Some(wanted);
        // The end of a pod that never was leaves no trace.
        let nothing_to_end = record.ending.is_some() && self.found.is_none();
        let is_new = !self.found.as_ref().is_some_and(|found| {
            same_manifest
                && (&found.version, found.ending, &found.name, &found.namespace)
                    == (&record.version, record.ending, &record.name, &record.namespace)
        });
        if is_new && !nothing_to_end {
            let folder = self.folder.clone();
            let written = tokio::task::spawn_blocking(move || {
                launch::make_folder(&folder)?;
                durable::write_json(&folder.join(POD), &record)?;
                Ok::<_, std::io::Error>(record)
            });
            match written.await {
                Ok(Ok(record)) => self.found = Some(record),
                Ok(Err(error)) => {
                    warn!(uid = %self.uid, %error, "cannot write down what is wanted of a pod; trying again");
                    self.wake_in(AGAIN);
                }
                Err(error) => {
                    warn!(uid = %self.uid, %error, "writing down what is wanted of a pod was given up");
                }
            }
        }
        self.check();
    }

    /// What is wanted is on disk, so it may be acted on.
    pub(super) fn is_written(&self) -> bool {
        match (&self.wanted, &self.found) {
            (Some(wanted), Some(found)) => {
                wanted.version == found.version
                    && wanted.ending == found.ending
                    && (Arc::ptr_eq(&wanted.manifest, &found.manifest) || wanted.manifest == found.manifest)
            }
            // There is nothing to write.
            (Some(wanted), None) => wanted.ending.is_some(),
            (None, _) => true,
        }
    }

    fn read(&mut self, manifest: &Value) {
        self.problems.clear();
        match Pod::parse(manifest) {
            Ok(pod) => self.pod = Arc::new(pod),
            Err(problem) => {
                self.problems.push(problem);
                return;
            }
        }
        let pod = self.pod.clone();
        let names: Vec<&str> =
            pod.spec.init_containers.iter().chain(&pod.spec.containers).map(|c| c.name.as_str()).collect();
        if !self.units.is_empty() && !self.units.iter().map(|unit| unit.name.as_str()).eq(names) {
            self.problems.push("containers cannot be added to a pod or taken from it".into());
            return;
        }
        let raw = |list: &str, index: usize| entry(manifest, list, index);
        let init = pod.spec.init_containers.iter().enumerate().map(|(index, container)| {
            let role = if container.is_sidecar() { Role::Sidecar } else { Role::Init };
            (container, raw("initContainers", index), role)
        });
        let main = pod
            .spec
            .containers
            .iter()
            .enumerate()
            .map(|(index, c)| (c, raw("containers", index), Role::Main));
        let all: Vec<(&Container, Arc<str>, Role)> = init.chain(main).collect();
        if self.units.is_empty() {
            // A name that is no name never becomes a path; the check refuses the pod.
            if all.iter().all(|(container, ..)| crate::names::is_label(&container.name)) {
                self.units = all.into_iter().map(|(c, entry, role)| self.unit(c, entry, role)).collect();
            }
            return;
        }
        for (unit, (container, entry, role)) in self.units.iter_mut().zip(all) {
            unit.spec = Arc::new(container.clone());
            unit.entry = entry;
            unit.role = role;
        }
    }

    fn unit(&self, container: &Container, entry: Arc<str>, role: Role) -> Unit {
        let mut unit = Unit::load(&self.folder, container, entry, role);
        let known = self.memory.checks.get(&container.name).copied().unwrap_or_default();
        if unit.attempt == Some(known.attempt) {
            unit.checks = known;
        }
        // What was known may be from before the start: nobody says of a container without a probe that it started.
        unit.checks.started |= container.startup_probe.is_none();
        if unit.attempt.is_some() {
            // Until it was looked at, it may well run.
            unit.life = Life::Starting;
        }
        unit
    }

    /// Decides once whether the pod can be honoured. What was admitted is asked for its ports no more.
    fn check(&mut self) {
        let Some(wanted) = &self.wanted else { return };
        if wanted.ending.is_some() || self.memory.failure.is_some() || self.memory.finishing {
            return;
        }
        let surroundings = Surroundings {
            namespace: &wanted.namespace,
            name: &wanted.name,
            uid: &self.uid,
            ports: &self.shared.ports,
            admitted: self.memory.admitted,
        };
        if self.problems.is_empty() {
            self.problems = check(&self.pod, &surroundings);
        }
        if self.problems.is_empty() {
            self.memory.admitted = true;
        } else {
            let message = self.problems.join("; ");
            warn!(uid = %self.uid, %message, "cannot honour a pod");
            self.memory.failure = Some(super::memory::Failure { reason: "CannotHonour".into(), message });
        }
    }
}

/// A container as the manifest has it, without what changes nothing for a process.
fn entry(manifest: &Value, list: &str, index: usize) -> Arc<str> {
    let mut entry = manifest["spec"][list][index].clone();
    if let Value::Object(map) = &mut entry {
        for ignored in [
            "resources",
            "resizePolicy",
            "imagePullPolicy",
            "terminationMessagePath",
            "terminationMessagePolicy",
        ] {
            map.remove(ignored);
        }
    }
    let mut text = String::new();
    spell(&entry, &mut text);
    text.into()
}

/// JSON with its keys in order, so that the same is spelled the same.
fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: std::collections::BTreeMap<_, _> = map.iter().collect();
            for (n, (key, value)) in sorted.into_iter().enumerate() {
                out.push(if n == 0 { '{' } else { ',' });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                spell(value, out);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                out.push(if n == 0 { '[' } else { ',' });
                spell(item, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        other => out.push_str(&other.to_string()),
    }
}
