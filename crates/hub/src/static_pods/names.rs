//! What ConfigMaps and task pods are called. Pure.
//!
//! A name is for people and for finding out whether something is there already. It is never taken apart: whose a task is, and
//! what for, stands in its labels, its annotation and its owner. Names that are too long are cut and end in a digest of the whole.

use safepoint_api::names::safepoint::static_pod::CONFIG_MAP_PREFIX;

use super::task::Kind;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// The longest value of a label.
const LONGEST_LABEL: usize = 63;
/// How much of a static pod's name, and of a node's, a task's name shows.
const SHOWN: usize = 80;

/// The ConfigMap of a revision.
pub(crate) fn config_map(static_pod: &str, revision: &str) -> String {
    fit(&format!("{CONFIG_MAP_PREFIX}{static_pod}-{revision}"), LONGEST_NAME)
}

/// The value of the label that finds what belongs to a StaticPod.
pub(crate) fn label(static_pod: &str) -> String {
    fit(static_pod, LONGEST_LABEL)
}

/// A task: the same for the same object, node, work, revision and attempt, and different for any other.
///
/// The object is told by its uid as well: `a-b` on node `c` and `a` on node `b-c` would read the same.
pub(crate) fn task(
    uid: &str,
    static_pod: &str,
    node: &str,
    kind: Kind,
    revision: &str,
    attempt: u32,
) -> String {
    let whose = digest(&[uid, node]);
    let shown = |name: &str| cut(name, SHOWN).to_owned();
    format!("{}-{}-{}-{revision}-{attempt}-{whose}", shown(static_pod), kind.word(), shown(node))
}

/// The text if it is short enough, or its beginning and a digest of all of it.
fn fit(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let digest = digest(&[text]);
    format!("{}-{digest}", cut(text, longest - digest.len() - 1))
}

/// The beginning of a name, without a dash or a dot at its end, after which nothing may follow.
fn cut(text: &str, longest: usize) -> &str {
    text[..text.floor_char_boundary(longest.min(text.len()))].trim_end_matches(['-', '.', '_'])
}

/// 64 bits of FNV-1a in hexadecimal. Names have to stay the same over versions of the hub, which the standard library does not
/// promise of its hashes.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for text in texts {
        // A byte that no text of UTF-8 has keeps the texts apart.
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use safepoint_core::rollout::Work;

    use super::*;

    fn named(uid: &str, static_pod: &str, node: &str, attempt: u32) -> String {
        task(uid, static_pod, node, Kind::Work(Work::Upgrade), "bcdfghjklmnp", attempt)
    }

    #[test]
    fn names_say_what_they_are_for() {
        assert_eq!(config_map("nginx", "bcdfghjklmnp"), "safepoint-static-nginx-bcdfghjklmnp");
        assert!(named("u", "nginx", "n1", 2).starts_with("nginx-upgrade-n1-bcdfghjklmnp-2-"));
        assert_eq!(label("nginx"), "nginx");
    }

    /// OpenYurt's defects 3 and 12: names that begin alike, or contain each other, were taken for the same.
    #[test]
    fn no_two_tasks_share_a_name_however_their_parts_read() {
        assert_ne!(named("u1", "a-b", "c", 1), named("u2", "a", "b-c", 1));
        assert_ne!(named("u1", "a", "n", 1), named("u2", "a", "n", 1));
        assert_ne!(named("u1", "a", "n", 1), named("u1", "a", "n", 2));
        let long = |end: char| format!("{}{end}", "n".repeat(200));
        assert_ne!(named("u", "a", &long('1'), 1), named("u", "a", &long('2'), 1));
    }

    #[test]
    fn long_names_are_cut_to_what_kubernetes_takes() {
        let long = format!("{}.{}", "a".repeat(100), "b".repeat(152));
        let name = config_map(&long, "bcdfghjklmnp");
        assert!(name.len() <= 253, "{name}");
        assert_ne!(name, config_map(&long, "bcdfghjklmnq"));
        assert!(label(&long).len() <= 63);
        let task = named("u", &long, &long, 100);
        assert!(task.len() <= 253, "{}", task.len());
        assert!(!task.contains(".-") && !task.contains("-."), "{task}");
        let dotted = named("u", &format!("{}.b", "a".repeat(79)), "n", 1);
        assert!(!dotted.contains(".-"), "{dotted}");
    }
}
