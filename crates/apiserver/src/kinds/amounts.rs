//! Amounts of resources: `cpu: 500m`. How they are written, which names they may have and what an amount may be.

use safepoint_machinery::names;
use safepoint_machinery::quantity::Quantity;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::check::{NEGATIVE, each, part};
use crate::fault::Problems;

/// Resources without a domain that are counted in whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// The other resources without a domain that Kubernetes knows, in quotas if not in containers.
const KNOWN: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];

/// An amount, if it can be read.
pub(super) fn read(value: &Value) -> Option<Quantity> {
    Quantity::from_value(value).ok()
}

/// Says what is wrong with the first amount that cannot be read, of some lists of resources.
pub(super) fn unreadable<'a>(lists: impl Iterator<Item = &'a Value>) -> Option<String> {
    let amounts = lists.filter_map(Value::as_object).flatten().map(|(_, amount)| amount);
    unreadable_each(amounts)
}

/// Says what is wrong with the first of some amounts that cannot be read.
pub(super) fn unreadable_each<'a>(mut amounts: impl Iterator<Item = &'a Value>) -> Option<String> {
    amounts.find_map(|amount| Quantity::from_value(amount).err()).map(|error| error.to_string())
}

/// The amounts of a list of resources; what cannot be read is left out.
pub(super) fn each_of<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, Quantity)> {
    let map = part(object, field).as_object().into_iter().flatten();
    map.filter_map(|(name, value)| Some((name.as_str(), read(value)?)))
}

/// Writes the amounts of a list of resources as Kubernetes would: canonical, and nothing finer than a thousandth.
pub(super) fn write_all(object: &mut Value, field: &str) {
    let Some(map) = object.get_mut(field).and_then(Value::as_object_mut) else { return };
    for value in map.values_mut() {
        if let Some(amount) = read(value) {
            *value = rounded(amount).to_string().into();
        }
    }
}

/// Writes one amount as Kubernetes would.
pub(super) fn write(object: &mut Value, field: &str) {
    if let Some(value) = object.get_mut(field)
        && let Some(amount) = read(value)
    {
        *value = amount.to_string().into();
    }
}

fn rounded(amount: Quantity) -> Quantity {
    let milli = amount.milli_value().and_then(|milli| format!("{milli}m").parse::<Quantity>().ok());
    match milli {
        Some(milli) if milli != amount => milli,
        _ => amount,
    }
}

/// Checks an amount of a resource.
pub(super) fn check(problems: &mut Problems, at: &FieldPath, name: &str, value: &Value) {
    let amount = match Quantity::from_value(value) {
        Ok(amount) => amount,
        Err(error) => {
            problems.push(FieldError::invalid(at, value.clone(), error.to_string()));
            return;
        }
    };
    if amount.is_negative() {
        problems.push(FieldError::invalid(at, amount.to_string(), NEGATIVE));
    }
    let is_whole = amount.milli_value().is_none_or(|milli| milli % 1000 == 0);
    if !is_whole && (WHOLE.contains(&name) || is_extended(name)) {
        problems.push(FieldError::invalid(at, amount.to_string(), "must be an integer"));
    }
}

/// Checks the name of a resource that a container asks for.
pub(super) fn check_container_name(problems: &mut Problems, at: &FieldPath, name: &str) {
    let known = check_name(problems, at, name);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            problems.push(FieldError::invalid(at, name, "must be a standard resource for containers"));
        }
    } else if known && !is_native(name) && !is_extended(name) {
        problems.push(FieldError::invalid(at, name, "doesn't follow extended resource name standard"));
    }
}

/// Checks the name of a resource that a pod asks for as a whole.
pub(super) fn check_pod_name(problems: &mut Problems, at: &FieldPath, name: &str) {
    if check_name(problems, at, name) && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        problems.push(FieldError::not_supported(at, name, &["cpu", "hugepages-", "memory"]));
    }
}

fn check_name(problems: &mut Problems, at: &FieldPath, name: &str) -> bool {
    let messages = names::qualified_name(name);
    let is_good = messages.is_empty();
    each(problems, at, name, messages);
    let is_known = name.contains('/')
        || WHOLE.contains(&name)
        || KNOWN.contains(&name)
        || is_huge_page(name)
        || name.starts_with("requests.hugepages-");
    if is_good && !is_known {
        let why = "must be a standard resource type or fully qualified";
        problems.push(FieldError::invalid(at, name, why));
    }
    is_good && is_known
}

/// Whether more of a resource may be promised than there is.
pub(super) fn can_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Pages of memory that are larger than others.
pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether an amount of huge pages is a number of whole pages.
pub(super) fn is_whole_pages(name: &str, amount: &Quantity) -> bool {
    let page = name.strip_prefix("hugepages-").and_then(|size| size.parse::<Quantity>().ok());
    match (page.as_ref().and_then(Quantity::value), amount.value()) {
        (Some(page), Some(amount)) => page > 0 && amount % page == 0,
        _ => false,
    }
}

/// A resource of Kubernetes' own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// A resource of somebody else.
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_written_as_kubernetes_writes_them() {
        let mut object =
            json!({"limits": {"cpu": "0.5", "memory": 1024, "a.b/c": "1e3", "x": "100u", "y": "?"}});
        write_all(&mut object, "limits");
        assert_eq!(
            object["limits"],
            json!({"cpu": "500m", "memory": "1024", "a.b/c": "1e3", "x": "1m", "y": "?"})
        );
    }

    #[test]
    fn an_amount_is_not_negative_and_devices_are_whole() {
        let texts = |name: &str, value: &str| {
            let mut problems = Problems::default();
            check(&mut problems, &FieldPath::new("at"), name, &json!(value));
            problems.iter().map(FieldError::to_string).collect::<Vec<_>>()
        };
        assert!(texts("cpu", "1500m").is_empty());
        assert_eq!(texts("cpu", "-1"), [r#"at: Invalid value: "-1": must be greater than or equal to 0"#]);
        assert_eq!(texts("example.com/gpu", "1500m"), [r#"at: Invalid value: "1500m": must be an integer"#]);
        assert!(
            texts("cpu", "lots")[0].contains("must match the regular expression"),
            "{:?}",
            texts("cpu", "lots")
        );
    }

    #[test]
    fn a_resource_is_known_or_has_an_owner() {
        let texts = |name: &str| {
            let mut problems = Problems::default();
            check_container_name(&mut problems, &FieldPath::new("at"), name);
            problems.into_iter().map(|problem| problem.detail).collect::<Vec<_>>()
        };
        for good in ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"] {
            assert!(texts(good).is_empty(), "{good}");
        }
        assert_eq!(texts("pods"), ["must be a standard resource for containers"]);
        assert_eq!(
            texts("gpu"),
            [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for containers"
            ]
        );
        assert_eq!(texts("requests.example.com/gpu"), ["doesn't follow extended resource name standard"]);
    }

    #[test]
    fn huge_pages_come_whole() {
        let amount = |text: &str| text.parse().unwrap();
        assert!(is_whole_pages("hugepages-2Mi", &amount("4Mi")));
        assert!(!is_whole_pages("hugepages-2Mi", &amount("3Mi")));
        assert!(!is_whole_pages("hugepages-x", &amount("4Mi")));
    }
}
