//! Made-up objects, and made-up changes of them, sent to both servers.
//!
//! An object is created and, where it has one, given a status. Then it is asked what each of some changes would make of
//! it, without making it so: all of them meet the same object, and a change that is answered differently can be made
//! smaller. The last change is made, and the object is read back.

use anyhow::Result;
use serde_json::{Value, json};

use super::ask::{Answer, Ask, EXTRA, NOW, difference};
use super::dice::Dice;
use super::findings::Findings;
use super::kinds::{Kind, NAME, kinds};
use super::patches::{Merging, operations};
use super::servers::Servers;
use super::shrink::smaller;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// How many changes each object is asked about.
const CHANGES: usize = 8;
/// How often Kubernetes is asked again before an answer of its own counts: it walks maps in any order, and may find
/// another one of several mistakes first.
const AGAIN: usize = 12;
/// How many smaller requests are tried for one difference.
const TRIES: usize = 400;

/// A run of comparisons.
pub(crate) struct Writes<'a> {
    servers: &'a Servers,
    kinds: Vec<Kind>,
    n_names: usize,
    n_compared: usize,
    findings: Findings,
}

/// What a difference needs: the requests that make the object, and the one that is answered differently.
#[derive(Clone)]
struct Scenario {
    setup: Vec<Ask>,
    probe: Ask,
}

/// What came of a request that both servers got.
enum Outcome {
    /// Both did it, and this is the object.
    Done(Value),
    /// Both refused it for the same reason.
    Refused,
    /// They differ.
    Differs,
}

// === impl Writes ===

impl<'a> Writes<'a> {
    /// Compares at least this many requests, or ends early with what was found.
    pub(crate) async fn compare(
        servers: &'a Servers,
        seed: u64,
        requests: usize,
    ) -> Result<(usize, Findings)> {
        let mut run =
            Writes { servers, kinds: kinds(), n_names: 0, n_compared: 0, findings: Findings::default() };
        let mut case = 0;
        while run.n_compared < requests && !run.findings.is_full() {
            run.case(&mut Dice::of(seed, case), case).await?;
            case += 1;
            // For whoever watches a long run.
            if case % 200 == 0 {
                eprintln!("{} requests after {case} objects", run.n_compared);
            }
        }
        Ok((run.n_compared, run.findings))
    }

    async fn case(&mut self, dice: &mut Dice, case: usize) -> Result<()> {
        let place = dice.below(self.kinds.len());
        let kind = &self.kinds[place];
        let (collection, made) = (kind.path(&self.servers.namespace), kind.make(dice));
        let object = format!("{collection}/{NAME}");
        let name = self.fresh_name();
        let mut setup = Vec::new();
        let created = self.step(&mut setup, Ask::post(collection, made), &name, case).await?;
        if let Outcome::Done(mut current) = created {
            let kind = &self.kinds[place];
            if let Some(status) = &kind.status
                && dice.percent(70)
            {
                let given = Ask::patch(format!("{object}/status"), MERGE_PATCH, status.value(dice));
                match self.step(&mut setup, given, &name, case).await? {
                    Outcome::Done(with_status) => current = with_status,
                    Outcome::Refused => {}
                    Outcome::Differs => return self.remove(&object, &name).await,
                }
            }
            for _ in 0..CHANGES {
                let probe = make_change(&self.kinds[place], &object, &current, dice);
                let scenario = Scenario { setup: setup.clone(), probe: probe.dry() };
                self.probe(scenario, &name, case).await?;
            }
            let last = make_change(&self.kinds[place], &object, &current, dice);
            // An owner that is not there would have the object removed, by one of the servers.
            if !last.body.as_ref().is_some_and(|body| body.to_string().contains("ownerReferences")) {
                let outcome = self.step(&mut setup, last, &name, case).await?;
                if !matches!(outcome, Outcome::Differs) {
                    let read = Scenario { setup, probe: Ask::get(object.clone()) };
                    self.probe(read, &name, case).await?;
                }
            }
        }
        self.remove(&object, &name).await
    }

    /// Sends a request that has consequences. If both servers do it, it becomes a part of the setup.
    async fn step(&mut self, setup: &mut Vec<Ask>, ask: Ask, name: &str, case: usize) -> Result<Outcome> {
        self.n_compared += 1;
        let (real, embedded) = self.servers.ask(&ask, name).await?;
        if let Some(gist) = difference(&real, &embedded) {
            let scenario = Scenario { setup: setup.clone(), probe: ask.dry() };
            // The same request without consequences, on another object, may be asked again and again.
            match self.play(&scenario).await? {
                Some(gist) => self.report(scenario, &gist, case).await?,
                // One of several mistakes was found first, or a field is unknown.
                None if !real.is_success() && !embedded.is_success() => return Ok(Outcome::Refused),
                None if gist.ends_with(EXTRA) => {}
                None => self.report(scenario, &format!("only when it is done: {gist}"), case).await?,
            }
            return Ok(Outcome::Differs);
        }
        // One of them did it and the other did not, as is known and meant: they go on from different objects.
        if real.is_success() != embedded.is_success() {
            return Ok(Outcome::Differs);
        }
        if !real.is_success() {
            return Ok(Outcome::Refused);
        }
        setup.push(ask);
        let mut object = real.object;
        forget_now(&mut object);
        Ok(Outcome::Done(object))
    }

    /// Sends a request that has no consequences.
    async fn probe(&mut self, scenario: Scenario, name: &str, case: usize) -> Result<()> {
        self.n_compared += 1;
        let answers = self.servers.ask(&scenario.probe, name).await?;
        match self.judge(&scenario.probe, name, answers).await? {
            Some(gist) => self.report(scenario, &gist, case).await,
            None => Ok(()),
        }
    }

    /// What differs between two answers to a request without consequences, if the real one stays with its answer.
    async fn judge(
        &self,
        ask: &Ask,
        name: &str,
        (real, embedded): (Answer, Answer),
    ) -> Result<Option<String>> {
        let Some(gist) = difference(&real, &embedded) else { return Ok(None) };
        if gist.ends_with(EXTRA) && self.has_unknown_fields(ask, name).await? {
            return Ok(None);
        }
        for _ in 0..AGAIN {
            if self.servers.real.ask(ask, name).await? == embedded {
                return Ok(None);
            }
        }
        Ok(Some(gist))
    }

    /// Whether a request brings fields that its kind does not have: those are kept here, on purpose.
    async fn has_unknown_fields(&self, ask: &Ask, name: &str) -> Result<bool> {
        let strict = Ask { path: format!("{}&fieldValidation=Strict", ask.path), ..ask.clone() };
        let (_, answer) = self.servers.real.send(&strict, name).await?;
        Ok(answer["message"].as_str().is_some_and(|message| message.contains("unknown field")))
    }

    /// Keeps a difference, in its smallest form, if it is a new one.
    async fn report(&mut self, scenario: Scenario, gist: &str, case: usize) -> Result<()> {
        let path = scenario.probe.path.split('?').next().unwrap_or_default();
        let place =
            path.split(NAME).map(|part| part.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default());
        let known = format!("{} {gist}", place.collect::<Vec<_>>().join("/"));
        if self.findings.count(&known) {
            return Ok(());
        }
        let mut smallest = scenario;
        let mut tries = 0;
        while let Some(scenario) = self.shrink(&smallest, gist, &mut tries).await? {
            smallest = scenario;
        }
        let text = self.tell(&smallest, case).await?;
        eprintln!("--- {known}\n{text}");
        self.findings.add(known, text);
        Ok(())
    }

    /// A smaller scenario with the same difference.
    async fn shrink(
        &mut self,
        scenario: &Scenario,
        gist: &str,
        tries: &mut usize,
    ) -> Result<Option<Scenario>> {
        for candidate in scenario.smaller() {
            *tries += 1;
            if *tries > TRIES {
                return Ok(None);
            }
            if self.play(&candidate).await?.as_deref() == Some(gist) {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Plays a scenario with a new object, and says what differs at its end.
    async fn play(&mut self, scenario: &Scenario) -> Result<Option<String>> {
        let name = self.fresh_name();
        for ask in &scenario.setup {
            self.servers.ask(ask, &name).await?;
        }
        let answers = self.servers.ask(&scenario.probe, &name).await?;
        let judgement = self.judge(&scenario.probe, &name, answers).await?;
        if let Some(object) = scenario.object() {
            self.remove(&object, &name).await?;
        }
        Ok(judgement)
    }

    /// Tells a scenario with the answers as they came.
    async fn tell(&mut self, scenario: &Scenario, case: usize) -> Result<String> {
        let name = self.fresh_name();
        for ask in &scenario.setup {
            self.servers.ask(ask, &name).await?;
        }
        let (real_code, mut real) = self.servers.real.send(&scenario.probe, &name).await?;
        let (code, embedded) = self.servers.embedded.send(&scenario.probe, &name).await?;
        if let Some(metadata) = real.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        if let Some(object) = scenario.object() {
            self.remove(&object, &name).await?;
        }
        let mut text = format!("case {case}\n");
        for ask in &scenario.setup {
            text += &format!("  given {ask}\n");
        }
        text += &format!(
            "  asked {}\n  real     {real_code} {real}\n  embedded {code} {embedded}",
            scenario.probe
        );
        Ok(text)
    }

    /// Removes an object, which may have finalizers and may not be there.
    async fn remove(&self, object: &str, name: &str) -> Result<()> {
        let free = json!({"metadata": {"finalizers": null}});
        self.servers.ask(&Ask::patch(object.to_owned(), MERGE_PATCH, free), name).await?;
        self.servers.ask(&Ask::delete(format!("{object}?gracePeriodSeconds=0")), name).await?;
        Ok(())
    }

    fn fresh_name(&mut self) -> String {
        self.n_names += 1;
        format!("object-{}-z", self.n_names)
    }
}

// === impl Scenario ===

impl Scenario {
    /// The scenarios with one part less.
    fn smaller(&self) -> Vec<Scenario> {
        let mut found = Vec::new();
        let bodies = self.probe.body.iter().flat_map(smaller);
        found.extend(bodies.map(|body| Scenario { probe: self.probe.with_body(body), ..self.clone() }));
        for place in (0..self.setup.len()).rev() {
            if place > 0 {
                let mut shorter = self.clone();
                shorter.setup.remove(place);
                found.push(shorter);
            }
            for body in self.setup[place].body.iter().flat_map(smaller) {
                let mut other = self.clone();
                other.setup[place] = self.setup[place].with_body(body);
                found.push(other);
            }
        }
        found
    }

    /// The path of the object that the setup makes.
    fn object(&self) -> Option<String> {
        self.setup.first().map(|create| format!("{}/{NAME}", create.path))
    }
}

/// Makes up a change of an object.
fn make_change(kind: &Kind, object: &str, current: &Value, dice: &mut Dice) -> Ask {
    let (shape, path) = match &kind.status {
        Some(status) if dice.percent(40) => (status, format!("{object}/status")),
        _ => (&kind.shape, object.to_owned()),
    };
    match dice.below(10) {
        0..5 => {
            let patch = Merging { strategic: true }.patch(shape, Some(current), dice);
            Ask::patch(path, STRATEGIC_PATCH, patch)
        }
        5..7 => Ask::patch(path, MERGE_PATCH, Merging { strategic: false }.patch(shape, Some(current), dice)),
        7..9 => Ask::patch(path, JSON_PATCH, operations(shape, current, dice)),
        _ => {
            let mut whole = current.clone();
            let patch = Merging { strategic: false }.patch(shape, Some(current), dice);
            merge(&mut whole, &patch);
            Ask::put(path, whole)
        }
    }
}

/// Leaves out the moments that were not compared: nobody knows which they are.
fn forget_now(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(forget_now),
        Value::Object(map) => {
            map.retain(|_, value| value != NOW);
            map.values_mut().for_each(forget_now);
        }
        _ => {}
    }
}

/// Merges without removing anything, so that nulls are sent as they are.
fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
