//! Whether a value fulfils its schema.
//!
//! The texts and their number are those of the API server's validator, including what it does with alternatives: of
//! several that fail, the problems of the one with the most passed checks are reported, so passed checks are counted.
//! On an update, problems of a value that equals its predecessor are dropped: whoever did not touch a value is not asked
//! to repair it.

mod embedded;
mod list;
mod number;
pub(crate) mod past;
mod scalar;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use safepoint_machinery::FieldError;
use safepoint_machinery::go;
use serde_json::{Map, Value};

use self::past::OldItems;
use crate::node::{Additional, Checks, Node, NodeId, Nodes};
use crate::path::{Base, Path};
use crate::problem;
use crate::shape::MAX_DEPTH;

pub(crate) use embedded::embedded_resources;
pub(crate) use list::list_types;

/// A problem and the sentence by which repeated reports of it are recognised.
#[derive(Debug)]
struct Complaint {
    sentence: String,
    problem: FieldError,
}

/// What checking one value gave.
#[derive(Debug, Default)]
struct Report {
    complaints: Vec<Complaint>,
    /// How many checks passed.
    passed: usize,
}

impl Report {
    fn merge(&mut self, other: Self) {
        self.complaints.extend(other.complaints);
        self.passed += other.passed;
    }

    fn is_valid(&self) -> bool {
        self.complaints.is_empty()
    }
}

/// Checks a value on its own.
pub(crate) fn value(nodes: &Nodes, id: NodeId, value: &Value, base: Base<'_>) -> Vec<FieldError> {
    update(nodes, id, value, None, base)
}

/// Checks a value against its schema and, if there was one, its predecessor.
pub(crate) fn update(
    nodes: &Nodes,
    id: NodeId,
    value: &Value,
    old: Option<&Value>,
    base: Base<'_>,
) -> Vec<FieldError> {
    let checker = Checker { nodes, base };
    let mut seen = HashSet::new();
    let report = checker.spine(id, value, old, &Path::ROOT);
    report
        .complaints
        .into_iter()
        .filter(|complaint| seen.insert(complaint.sentence.clone()))
        .map(|complaint| complaint.problem)
        .collect()
}

struct Checker<'a> {
    nodes: &'a Nodes,
    base: Base<'a>,
}

// === impl Checker ===

impl Checker<'_> {
    /// A complaint about the place itself.
    fn complain(
        &self,
        path: &Path<'_>,
        sentence: String,
        make: impl FnOnce(String, &str) -> FieldError,
    ) -> Complaint {
        let problem = make(self.base.join_name(&path.dotted()), &sentence);
        Complaint { sentence, problem }
    }

    /// A complaint that has no place of its own and names one in its sentence.
    fn complain_at_large(&self, sentence: String) -> Complaint {
        let problem = FieldError::invalid(self.base.itself(), "", &*sentence);
        Complaint { sentence, problem }
    }

    /// A value outside of logic, whose predecessor may excuse it.
    fn spine(&self, id: NodeId, value: &Value, old: Option<&Value>, path: &Path<'_>) -> Report {
        let mut report = self.node(id, value, old, path);
        if let Some(old) = old
            && !report.is_valid()
            && past::same(self.nodes, self.nodes.get(id), value, old)
        {
            report.complaints.clear();
        }
        report
    }

    fn node(&self, id: NodeId, value: &Value, old: Option<&Value>, path: &Path<'_>) -> Report {
        let node = self.nodes.get(id);
        let mut report = Report::default();
        if path.depth() > MAX_DEPTH {
            report.complaints.push(self.complain_at_large(format!("{} nests too deep", path.dotted())));
            return report;
        }
        let checks = node.checks.as_deref();
        let typed = !node.types.is_empty() || checks.is_some_and(|checks| checks.format.is_some());
        if typed {
            match self.type_of(node, value, path) {
                Some(complaint) => report.complaints.push(complaint),
                None => report.passed += 1,
            }
            report.passed += 1;
        }
        if value.is_null() {
            // Nothing else is asked of a null, and nothing is counted for asking.
            report.passed = usize::from(report.is_valid());
            report.complaints.extend(checks.and_then(|checks| self.enumerated(checks, value, path)));
            return report;
        }
        report.passed += 2;
        if let Some(checks) = checks {
            self.logic(checks, value, path, &mut report);
        }
        match value {
            Value::String(text) => {
                report.passed += 1;
                if let Some(checks) = checks {
                    self.text(checks, text, path, &mut report);
                }
            }
            Value::Number(number) => {
                report.passed += 2;
                self.number(node, number, path, &mut report);
            }
            Value::Array(items) => {
                self.items(node, items, old, path, &mut report);
                report.passed += 2;
            }
            Value::Object(map) => {
                self.fields(node, map, old, path, &mut report);
                report.passed += 1;
            }
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(complaint) = checks.and_then(|checks| self.enumerated(checks, value, path)) {
            report.complaints.push(complaint);
        }
        report.passed += 2;
        report
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn logic(&self, checks: &Checks, value: &Value, path: &Path<'_>, report: &mut Report) {
        let quoted = || go::quote(&path.dotted());
        if !checks.any_of.is_empty() {
            let mut best: Option<Report> = None;
            let mut valid = false;
            for id in &checks.any_of {
                let tried = self.node(*id, value, None, path);
                valid = tried.is_valid();
                if valid || best.as_ref().is_none_or(|best| tried.passed > best.passed) {
                    best = Some(tried);
                }
                if valid {
                    break;
                }
            }
            if !valid {
                let sentence = format!("{} must validate at least one schema (anyOf)", quoted());
                report.complaints.push(self.complain_at_large(sentence));
            }
            report.merge(best.unwrap_or_default());
        }
        if !checks.one_of.is_empty() {
            let tried: Vec<Report> =
                checks.one_of.iter().map(|id| self.node(*id, value, None, path)).collect();
            let count = tried.iter().filter(|report| report.is_valid()).count();
            if count == 1 {
                report.merge(tried.into_iter().find(Report::is_valid).unwrap_or_default());
            } else {
                let found = match count {
                    0 => "Found none valid".to_owned(),
                    count => format!("Found {count} valid alternatives"),
                };
                let sentence = format!("{} must validate one and only one schema (oneOf). {found}", quoted());
                report.complaints.push(self.complain_at_large(sentence));
                if count == 0 {
                    // The first of those that got furthest.
                    let best = tried.into_iter().rev().max_by_key(|report| report.passed);
                    report.merge(best.unwrap_or_default());
                }
            }
        }
        if !checks.all_of.is_empty() {
            let mut valid = 0;
            for id in &checks.all_of {
                let tried = self.node(*id, value, None, path);
                valid += usize::from(tried.is_valid());
                report.merge(tried);
            }
            if valid != checks.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                let sentence = format!("{} must validate all the schemas (allOf){none}", quoted());
                report.complaints.push(self.complain_at_large(sentence));
            }
        }
        if let Some(not) = checks.not
            && self.node(not, value, None, path).is_valid()
        {
            let sentence = format!("{} must not validate the schema (not)", quoted());
            report.complaints.push(self.complain_at_large(sentence));
        }
    }

    fn items(&self, node: &Node, items: &[Value], old: Option<&Value>, path: &Path<'_>, report: &mut Report) {
        if let Some(id) = node.items {
            let old = OldItems::new(&node.list, old);
            for (index, item) in items.iter().enumerate() {
                report.merge(self.spine(id, item, old.find(item), &path.index(index)));
            }
        }
        let Some(checks) = node.checks.as_deref() else { return };
        let name = || path.dotted();
        if let Some(min) = checks.min_items.filter(|min| count(items.len()) < *min) {
            let sentence = format!("{} in body should have at least {min} items", name());
            report.complaints.push(
                self.complain(path, sentence, |path, text| FieldError::invalid(path, items.len(), text)),
            );
        }
        if let Some(max) = checks.max_items.filter(|max| count(items.len()) > *max) {
            let sentence = format!("{} in body should have at most {max} items", name());
            report
                .complaints
                .push(self.complain(path, sentence, |path, _| problem::too_many(path, items.len(), max)));
        }
        if checks.unique_items && has_duplicates(items) {
            let sentence = format!("{} in body shouldn't contain duplicates", name());
            report
                .complaints
                .push(self.complain(path, sentence, |path, text| FieldError::invalid(path, "", text)));
        }
    }

    fn fields(
        &self,
        node: &Node,
        map: &Map<String, Value>,
        old: Option<&Value>,
        path: &Path<'_>,
        report: &mut Report,
    ) {
        let name = || path.dotted();
        if let Some(checks) = node.checks.as_deref() {
            if let Some(min) = checks.min_properties.filter(|min| count(map.len()) < *min) {
                let sentence = format!("{} in body should have at least {min} properties", name());
                report.complaints.push(
                    self.complain(path, sentence, |path, text| FieldError::invalid(path, map.len(), text)),
                );
            }
            if let Some(max) = checks.max_properties.filter(|max| count(map.len()) > *max) {
                let sentence = format!("{} in body should have at most {max} properties", name());
                report
                    .complaints
                    .push(self.complain(path, sentence, |path, _| problem::too_many(path, map.len(), max)));
            }
            for required in checks.required.iter().filter(|required| !map.contains_key(&***required)) {
                let path = path.key(required);
                let sentence = format!("{} in body is required", path.dotted());
                report
                    .complaints
                    .push(self.complain(&path, sentence, |path, _| FieldError::required(path, "")));
            }
        }
        for (field, value) in map {
            let (id, path) = match (node.property(field), node.additional) {
                (Some(id), _) => (id, path.field(field)),
                (None, Additional::Schema(id)) => (id, path.key(field)),
                (None, Additional::Allowed(false)) => {
                    let sentence = format!("{}.{field} in body is a forbidden property", name());
                    let complaint =
                        self.complain(path, sentence, |path, text| FieldError::invalid(path, &**field, text));
                    report.complaints.push(complaint);
                    continue;
                }
                (None, Additional::Unspecified | Additional::Allowed(true)) => continue,
            };
            // The version and the kind never change visibly, so they excuse nothing.
            let is_type_meta = path.depth() == 1 && matches!(field.as_str(), "kind" | "apiVersion");
            let old = old.filter(|_| !is_type_meta).and_then(|old| old.get(field));
            report.merge(self.spine(id, value, old, &path));
        }
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = HashSet::new();
    !items.iter().all(|item| seen.insert(item.to_string()))
}
