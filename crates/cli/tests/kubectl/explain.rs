//! `kubectl explain`: the schemas that the server tells.

use crate::support::{Space, assert_has, assert_lacks};

/// The fields that are listed, as `name <type>`, with two blanks for each level.
fn fields(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.contains("\t<")).map(|line| line.replace('\t', " ")).collect()
}

#[test]
fn a_part_of_a_pod_is_explained() {
    let space = Space::new();
    let text = space.run("explain pod.spec");
    assert!(text.starts_with("KIND:       Pod\nVERSION:    v1\n\nFIELD: spec <PodSpec>\n"), "{text}");
    let fields = fields(&text);
    for field in
        ["  containers <[]Container> -required-", "  nodeName <string>", "  tolerations <[]Toleration>"]
    {
        assert!(fields.iter().any(|known| known == field), "{field}: {fields:?}");
    }
    assert_has(&space.run("explain pods.spec.nodeName"), "FIELD: nodeName <string>");
    assert_has(
        &space.run("explain pod.spec.containers.resources"),
        "FIELD: resources <ResourceRequirements>",
    );
}

#[test]
fn a_kind_is_explained_to_the_last_field() {
    let space = Space::new();
    let fields = fields(&space.run("explain pod --recursive"));
    for field in [
        "  metadata <ObjectMeta>",
        "      matchLabelKeys <[]string>",
        "            key <string> -required-",
        "    volumes <[]Volume>",
    ] {
        assert!(fields.iter().any(|known| known.trim_start() == field.trim_start()), "{field}: {fields:?}");
    }
    assert!(fields.len() > 1000, "{}", fields.len());
}

#[test]
fn every_kind_is_explained() {
    let space = Space::new();
    let kinds = [
        ("configmap.data", "FIELD: data <map[string]string>"),
        ("secret", "stringData\t<map[string]string>"),
        ("node.status.conditions", "lastHeartbeatTime\t<string>"),
        ("namespace.spec", "finalizers\t<[]string>"),
        ("svc.spec.ports", "port\t<integer> -required-"),
        ("sa", "automountServiceAccountToken\t<boolean>"),
        ("lease.spec", "holderIdentity\t<string>"),
        ("event", "involvedObject\t<ObjectReference> -required-"),
        (
            "events --api-version=events.k8s.io/v1",
            "GROUP:      events.k8s.io\nKIND:       Event\nVERSION:    v1\n",
        ),
        ("crd.spec.versions", "additionalPrinterColumns\t<[]CustomResourceColumnDefinition>"),
        ("validatingwebhookconfigurations.webhooks", "failurePolicy\t<string>"),
        ("pod.metadata", "ownerReferences\t<[]OwnerReference>"),
    ];
    for (kind, part) in kinds {
        assert_has(&space.run(&format!("explain {kind}")), part);
    }
}

#[test]
fn what_may_be_left_out_is_not_called_required() {
    let space = Space::new();
    assert_lacks(&space.run("explain pod"), "-required-");
    assert_lacks(&space.run("explain pod.spec.imagePullSecrets"), "-required-");
}

#[test]
fn what_is_not_there_is_not_explained() {
    let space = Space::new();
    assert_has(&space.refused("explain pod.spec.colour"), "error: field \"colour\" does not exist");
    assert_has(&space.refused("explain nonsense"), "the server doesn't have a resource type \"nonsense\"");
}
