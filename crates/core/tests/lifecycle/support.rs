//! A pod, the writes of everybody around it, and a short notation for labels.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::lifecycle::{
    Changes, DOMAIN, Expectations, Kind, LabelKey, Lifecycle, Mark, Nanos, Request, RuleStates, ServiceGate,
    View, Writer,
};
use safepoint_core::{Labels, Text};
use serde_json::Value;

/// The time of all labels, where it does not matter.
pub(crate) const NOW: Nanos = Nanos(1_717_505_885_197_871_195);
/// The finalizer of the one cooperation controller.
pub(crate) const PROTECTION: &str = "prot.podopslifecycle.kusionstack.io/traffic";
/// A write of the lifecycle's own, or of somebody trusted.
pub(crate) const UPDATE: Request = Request { kind: Kind::Update, writer: Writer::Lifecycle, dry_run: false };

/// `operating/1` and `operation-type/1=update` as the labels of a pod that takes part.
pub(crate) fn wire(short: &[&str]) -> Labels {
    let mut labels = Labels::from([("kusionstack.io/control".into(), "true".into())]);
    for label in short {
        let (key, value) = label.split_once('=').unwrap_or((label, "1"));
        let mark = Mark::ALL.into_iter().rfind(|mark| mark.key().ends_with(&format!("/{key}")));
        let key = match (mark, key) {
            (_, "to-delete") => Mark::ToDelete.key().to_owned(),
            (Some(mark), _) => mark.key().to_owned(),
            (None, key) => match key.split_once('/') {
                Some((prefix, name)) => format!("{prefix}.{DOMAIN}/{name}"),
                None => format!("{key}.{DOMAIN}"),
            },
        };
        labels.insert(key.into(), value.into());
    }
    labels
}

/// The labels of a view, in the same notation. Times are left out; types are not.
pub(crate) fn short(view: &View) -> BTreeSet<String> {
    let typed = |key: &str| key.contains("operation-type");
    view.labels()
        .map(|(key, value)| {
            let key = match &key {
                LabelKey::Mark(mark) => mark.key().rsplit('/').next().unwrap_or_default().to_owned(),
                key => key.to_string().replacen(&format!(".{DOMAIN}"), "", 1),
            };
            if typed(&key) { format!("{key}={value}") } else { key }
        })
        .collect()
}

/// The same from a list.
pub(crate) fn set(labels: &[&str]) -> BTreeSet<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

/// A list of labels out of a case.
pub(crate) fn list(case: &Value, field: &str) -> Vec<String> {
    let items = case.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    items.iter().map(|item| item.as_str().expect("a text").to_owned()).collect()
}

/// The view that a case describes.
pub(crate) fn view_of(pod: &Value, labels: &[String]) -> View {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut view = View::of(&wire(&labels));
    let flag = |name: &str| pod.get(name).and_then(Value::as_bool);
    view.controlled = flag("controlled").unwrap_or(true);
    view.ready = flag("ready").unwrap_or(false);
    view.deleting = flag("deleting").unwrap_or(false);
    view.finalizers = list(pod, "finalizers").iter().map(|text| Text::from(text.as_str())).collect();
    if let Some(gate) = pod.get("gate") {
        let condition = gate.get("condition").and_then(Value::as_bool);
        view.gate = ServiceGate { declared: true, condition };
    }
    if let Some(expected) = pod.get("expected").and_then(Value::as_object) {
        let text = |value: &Value| Text::from(value.as_str().expect("a text"));
        let declared: BTreeMap<Text, Text> =
            expected.iter().map(|(who, what)| (Text::from(who.as_str()), text(what))).collect();
        view.expectations = Expectations::Declared(declared);
    }
    view
}

/// A pod with one cooperation controller, and everybody's writes on it.
#[derive(Clone)]
pub(crate) struct Pod {
    pub(crate) view: View,
    pub(crate) rules: RuleStates,
    pub(crate) writes: usize,
    pub(crate) machine: Lifecycle,
}

impl Pod {
    /// In service.
    pub(crate) fn serving() -> Self {
        let mut view = View::of(&wire(&["service-available"]));
        view.gate = ServiceGate { declared: true, condition: Some(true) };
        view.ready = true;
        view.finalizers = vec![PROTECTION.into()];
        Self { view, rules: RuleStates::PASSED, writes: 0, machine: Lifecycle::default() }
    }

    /// In service, and declared so.
    pub(crate) fn declared() -> Self {
        let mut pod = Self::serving();
        let declared = BTreeMap::from([("Service/default/web".into(), PROTECTION.into())]);
        pod.view.expectations = Expectations::Declared(declared);
        pod
    }

    /// A write that goes through the webhook.
    pub(crate) fn write(&mut self, change: impl FnOnce(&mut View)) -> &mut Self {
        let old = self.view.clone();
        change(&mut self.view);
        let changes = self.machine.admit(&self.view, Some(&old), UPDATE, NOW).expect("no key is invalid");
        self.view.apply(&changes);
        safepoint_core::lifecycle::check(&self.view, Some(&old))
            .expect("who keeps to the protocol is not refused");
        self.writes += 1;
        self
    }

    pub(crate) fn begin(&mut self, id: &str, kind: &str) -> &mut Self {
        self.write(|view| view.begin(id, kind, NOW))
    }

    pub(crate) fn finish(&mut self, id: &str) -> &mut Self {
        self.write(|view| view.finish(id))
    }

    pub(crate) fn undo(&mut self, id: &str, kind: &str) -> &mut Self {
        self.write(|view| view.undo(id, kind))
    }

    /// The controller looks once, and writes if there is something to write.
    pub(crate) fn look(&mut self) -> Changes {
        let changes = self.machine.reconcile(&self.view, &self.rules, &BTreeSet::new(), NOW);
        if !changes.is_empty() {
            self.write(|view| view.apply(&changes));
        }
        changes
    }

    /// The kubelet reports, if there is something to report.
    pub(crate) fn kubelet(&mut self) -> &mut Self {
        let ready = self.view.gate.condition == Some(true);
        if self.view.ready != ready {
            self.write(|view| view.ready = ready);
        }
        self
    }

    /// The cooperation controller switches on or off.
    pub(crate) fn cooperate(&mut self) -> &mut Self {
        let finalizers = if self.view.ready { vec![Text::from(PROTECTION)] } else { Vec::new() };
        if self.view.finalizers != finalizers {
            self.write(|view| view.finalizers = finalizers);
        }
        self
    }

    /// Everybody but the operation controllers does what there is to do.
    pub(crate) fn rest(&mut self) -> &mut Self {
        for _ in 0..20 {
            let before = self.view.clone();
            let _ = self.look();
            self.kubelet().cooperate();
            if self.view == before {
                return self;
            }
        }
        panic!("it does not come to rest: {:?}", short(&self.view));
    }

    pub(crate) fn has(&self, labels: &[&str]) -> bool {
        short(&self.view) == set(labels)
    }

    #[track_caller]
    pub(crate) fn expect(&self, labels: &[&str]) {
        assert_eq!(short(&self.view), set(labels));
    }

    pub(crate) fn may_act(&self, id: &str) -> bool {
        let key = format!("operate/{id}");
        short(&self.view).contains(&key)
    }
}
