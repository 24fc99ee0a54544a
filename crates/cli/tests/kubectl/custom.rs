//! Kinds that CRDs define, the project's own first.

use std::sync::OnceLock;

use crate::support::{Space, assert_has, assert_lacks, assert_table, event_about, widgets};

/// The project's CRDs, applied once for all tests.
fn with_project_kinds() -> Space<'static> {
    static APPLIED: OnceLock<()> = OnceLock::new();
    let space = Space::new();
    APPLIED.get_or_init(|| {
        space.run(&format!("apply -f {CRDS}"));
        space.run("wait --for=condition=Established crd/nodegates.safepoint.dev crd/staticpods.safepoint.dev --timeout=60s");
        space.until_served("safepoint.dev/v1alpha1", "nodegates");
        space.until_served("safepoint.dev/v1alpha1", "staticpods");
    });
    space
}

const CRDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");

/// A gate that shall be frozen.
fn gate(name: &str) -> String {
    format!(
        "
apiVersion: safepoint.dev/v1alpha1
kind: NodeGate
metadata: {{name: {name}}}
spec:
  freeze: {{id: lift-42, reason: crane lift, holder: ops, lease: {{for: 30m}}}}
"
    )
}

const STATIC_POD: &str = "
apiVersion: safepoint.dev/v1alpha1
kind: StaticPod
metadata: {name: nav}
spec:
  staticPodName: nav
  staticPodManifest: nav
  template: {spec: {containers: [{name: nav, image: nav:1}]}}
";

/// A namespace in which there are widgets, and their group, which no other test has.
fn with_widgets() -> (Space<'static>, String) {
    let space = Space::new();
    let group = format!("{}.example.com", space.namespace());
    space.apply(&widgets(&group));
    space.run(&format!("wait --for=condition=Established crd/widgets.{group} --timeout=60s"));
    space.until_served(&format!("{group}/v1"), "widgets");
    space.apply(&widget(&group, "red"));
    (space, group)
}

fn widget(group: &str, colour: &str) -> String {
    format!("{{apiVersion: {group}/v1, kind: Widget, metadata: {{name: a}}, spec: {{colour: {colour}}}}}")
}

#[test]
fn the_kinds_of_the_project_are_applied_and_listed() {
    let space = with_project_kinds();
    assert_table(
        &space.run(&format!("apply -f {CRDS}")),
        &[
            "customresourcedefinition.apiextensions.k8s.io/nodegates.safepoint.dev unchanged",
            "customresourcedefinition.apiextensions.k8s.io/podtransitionrules.apps.kusionstack.io unchanged",
            "customresourcedefinition.apiextensions.k8s.io/staticpods.safepoint.dev unchanged",
        ],
    );
    assert_table(
        &space.run("api-resources --api-group=safepoint.dev"),
        &[
            "NAME SHORTNAMES APIVERSION NAMESPACED KIND",
            "nodegates ngate safepoint.dev/v1alpha1 false NodeGate",
            "staticpods stpod safepoint.dev/v1alpha1 true StaticPod",
        ],
    );
    space.until_served("apps.kusionstack.io/v1alpha1", "podtransitionrules");
    assert_table(
        &space.run("api-resources --api-group=apps.kusionstack.io"),
        &[
            "NAME SHORTNAMES APIVERSION NAMESPACED KIND",
            "podtransitionrules ptr apps.kusionstack.io/v1alpha1 true PodTransitionRule",
        ],
    );
    assert_table(
        &space.run("get crd nodegates.safepoint.dev"),
        &["NAME CREATED AT", "nodegates.safepoint.dev *"],
    );
}

#[test]
fn a_gate_shows_what_its_node_says() {
    let space = with_project_kinds();
    let name = format!("gate-{}", space.namespace());
    assert_eq!(space.apply(&gate(&name)), format!("nodegate.safepoint.dev/{name} created\n"));
    assert_eq!(space.apply(&gate(&name)), format!("nodegate.safepoint.dev/{name} unchanged\n"));
    // A node that has not answered yet has nothing to show.
    assert_table(
        &space.run(&format!("get nodegates {name}")),
        &["NAME STATE HELD ORPHANED SINCE HOLDER REASON", &name],
    );
    space.run(&format!(
        r#"patch ngate {name} --subresource=status --type=merge -p '{{"status": {{"observedGeneration": 1, "state": "Frozen",
            "heldCount": 2, "holder": "ops", "reason": "crane lift", "since": "2026-01-01T00:00:00Z", "orphaned": false,
            "agentVersion": "0.1.0"}}}}'"#
    ));
    assert_table(
        &space.run(&format!("get nodegates {name}")),
        &["NAME STATE HELD ORPHANED SINCE HOLDER REASON", &format!("{name} Frozen 2 false * ops crane lift")],
    );
    assert_table(
        &space.run(&format!("get ngate {name} -o wide")),
        &[
            "NAME STATE HELD ORPHANED SINCE AGENT AGE HOLDER REASON",
            &format!("{name} Frozen 2 false * 0.1.0 * ops crane lift"),
        ],
    );
    let text = space.run(&format!("describe ngate {name}"));
    for line in [
        "  Freeze:\n",
        "    Hold Barrier:  true\n",
        "      On Expiry:  Stay\n",
        "  Held Count:           2\n",
    ] {
        assert_has(&text, line);
    }
    space.run(&format!("wait ngate/{name} --for=jsonpath='{{.status.state}}'=Frozen --timeout=60s"));
    // Both kinds are of one category.
    space.apply(STATIC_POD);
    let all = space.run("get safepoint -o name");
    assert_has(&all, &format!("nodegate.safepoint.dev/{name}\n"));
    assert_has(&all, "staticpod.safepoint.dev/nav\n");
}

#[test]
fn a_static_pod_is_filled_in_and_its_rules_are_kept() {
    let space = with_project_kinds();
    space.apply(STATIC_POD);
    assert_table(
        &space.run("get stpod -o wide"),
        &[
            "NAME STRATEGY STATUS DESIRED UPGRADED UPGRADING READY DEFERRED FAILED PAUSED AGE REVISION",
            "nav AdvancedRollingUpdate false *",
        ],
    );
    space.run(
        r#"patch stpod nav --subresource=status --type=merge -p '{"status": {"desiredNumber": 9, "upgradedNumber": 4,
            "upgradingNumber": 2, "readyNumber": 8, "updateRevision": "bcdfghjklmnp", "conditions": [
            {"type": "Success", "status": "False", "reason": "RollingOut", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Upgrading", "status": "True", "reason": "RollingOut", "message": "4 of 9", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Failed", "status": "False", "reason": "RollingOut", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}'"#,
    );
    assert_table(
        &space.run("get staticpods"),
        &[
            "NAME STRATEGY STATUS DESIRED UPGRADED UPGRADING READY DEFERRED FAILED PAUSED AGE",
            "nav AdvancedRollingUpdate RollingOut 9 4 2 8 0 0 false *",
        ],
    );
    let text = space.run("describe stpod nav");
    assert_has(&text, "  Upgrading Number:        2\n");
    assert_has(&text, "    Message:               4 of 9\n");
    space.file("bad.yaml", &STATIC_POD.replace("staticPodManifest: nav", "staticPodManifest: nav.yaml"));
    let refusal = space.refused("apply -f bad.yaml");
    assert_has(&refusal, "The StaticPod \"nav\" is invalid:");
    assert_has(&refusal, "spec.staticPodManifest: Invalid value:");
    assert_has(&refusal, "leave out .yaml: it is added");
}

#[test]
fn a_transition_rule_shows_how_many_pods_it_is_about_and_refuses() {
    let space = with_project_kinds();
    space.until_served("apps.kusionstack.io/v1alpha1", "podtransitionrules");
    space.apply(
        "
apiVersion: apps.kusionstack.io/v1alpha1
kind: PodTransitionRule
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  rules: [{name: half-stays, availablePolicy: {maxUnavailableValue: 50%}}]
",
    );
    space.run(
        r#"patch ptr shop --subresource=status --type=merge -p '{"status": {"selectedNumber": 4, "refusedNumber": 1,
            "updateTime": "2026-01-01T00:00:00.000000Z", "conditions": [{"type": "Readable", "status": "True", "reason": "Read",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}'"#,
    );
    assert_table(
        &space.run("get podtransitionrules"),
        &["NAME PODS REFUSED READABLE CHANGED AGE", "shop 4 1 True * *"],
    );
    assert_has(&space.run("describe ptr shop"), "  Refused Number:          1\n");
}

#[test]
fn the_kinds_of_the_project_are_explained() {
    let space = with_project_kinds();
    let text = space.run("explain ngate");
    assert!(
        text.starts_with("GROUP:      safepoint.dev\nKIND:       NodeGate\nVERSION:    v1alpha1\n"),
        "{text}"
    );
    assert_lacks(&text, "<no description>");
    assert_has(&space.run("explain ngate.spec.freeze.lease.for"), "FIELD: for <string>\n");
    assert_has(
        &space.run("explain ngate.spec --recursive"),
        "      onExpiry\t<string>\n      enum: ThawIfSafe, Stay\n",
    );
    assert_has(&space.run("explain stpod.spec.upgradeStrategy"), "enum: AdvancedRollingUpdate, OTA\n");
    assert_has(&space.refused("explain ngate.spec.colour"), "field \"colour\" does not exist");
}

#[test]
fn columns_are_those_of_the_definition() {
    let (space, group) = with_widgets();
    assert_table(&space.run(&format!("get widgets.{group}")), &["NAME SIZE", "a 1"]);
    assert_table(&space.run(&format!("get wd.v1.{group} -o wide")), &["NAME SIZE COLOUR", "a 1 red"]);
}

#[test]
fn a_custom_resource_is_described_with_its_events() {
    let (space, group) = with_widgets();
    let uid = space.run(&format!("get widget.{group} a -o jsonpath={{.metadata.uid}}"));
    space.file("event.yaml", &event_about("Widget", "a", space.namespace(), &uid, "Odd", "something is odd"));
    space.run("create -f event.yaml");
    let text = space.run(&format!("describe widget.{group} a"));
    assert_has(&text, &format!("API Version:  {group}/v1\nKind:         Widget\n"));
    assert_has(&text, "Spec:\n  Colour:    red\n  Replicas:  1\n");
    let (_, event) = text.split_once("-------\n").unwrap();
    assert_table(event, &["Warning Odd * (x3 over *) tester something is odd"]);
}

#[test]
fn a_custom_resource_is_scaled() {
    let (space, group) = with_widgets();
    let scale = |flags: &str| space.kubectl(&format!("scale widget.{group}/a {flags}"));
    assert_eq!(scale("--replicas=3").ok(), format!("widget.{group}/a scaled\n"));
    assert_eq!(space.run(&format!("get widget.{group} a -o jsonpath={{.spec.replicas}}")), "3");
    assert_has(&scale("--replicas=4 --current-replicas=9").refused(), "Expected replicas to be 9, was 3");
    assert_table(
        &space.run(&format!("get widget.{group} a --subresource=scale")),
        &["NAME DESIRED AVAILABLE AGE", "a 3 0 *"],
    );
    space.run(&format!(
        r#"patch widget.{group} a --subresource=scale --type=merge -p '{{"spec": {{"replicas": 5}}}}'"#
    ));
    assert_has(
        &space.run(&format!("get --raw /apis/{group}/v1/namespaces/{}/widgets/a/scale", space.namespace())),
        r#""spec":{"replicas":5}"#,
    );
}

#[test]
fn a_custom_resource_is_changed_in_all_ways() {
    let (space, group) = with_widgets();
    let kind = format!("widget.{group}");
    assert_eq!(space.apply(&widget(&group, "green")), format!("{kind}/a configured\n"));
    assert_eq!(space.edit("s/green/red/", &format!("edit {kind} a")).ok(), format!("{kind}/a edited\n"));
    space.run(&format!(
        r#"patch {kind} a --type=json -p '[{{"op": "replace", "path": "/spec/replicas", "value": 2}}]'"#
    ));
    space.run(&format!("label {kind} a size=small"));
    space.run(&format!("annotate {kind} a note=hello"));
    assert_eq!(
        space.run(&format!(
            "get {kind} a -o jsonpath='{{.spec}} {{.metadata.labels}} {{.metadata.annotations.note}}'"
        )),
        r#"{"colour":"red","replicas":2} {"size":"small"} hello"#
    );
    let refusal = space.refused(&format!(r#"patch {kind} a -p '{{"spec": {{"colour": "green"}}}}'"#));
    assert_has(&refusal, "application/strategic-merge-patch+json is not supported");
    assert_has(&refusal, "application/merge-patch+json");

    space.run(&format!(
        r#"patch {kind} a --subresource=status --type=merge -p '{{"status": {{"conditions": [{{"type": "Ready", "status": "True"}}]}}}}'"#
    ));
    assert_eq!(
        space.run(&format!("wait {kind}/a --for=condition=Ready --timeout=60s")),
        format!("{kind}/a condition met\n")
    );
    space.file("new.yaml", &widget(&group, "green"));
    space.run("replace -f new.yaml");
    assert_eq!(
        space.run(&format!("get {kind} a -o jsonpath='{{.spec}}{{.status.conditions[0].type}}'")),
        r#"{"colour":"green","replicas":1}Ready"#
    );
}

#[test]
fn a_custom_resource_that_breaks_its_schema_is_refused() {
    let (space, group) = with_widgets();
    let refused = |patch: &str| space.refused(&format!("patch widget.{group} a --type=merge -p '{patch}'"));
    assert_eq!(
        refused(r#"{"spec": {"colour": "blue"}}"#),
        "The Widget \"a\" is invalid: spec.colour: Unsupported value: \"blue\": supported values: \"red\", \"green\"\n"
    );
    assert_eq!(
        refused(r#"{"spec": {"colour": null}}"#),
        "The Widget \"a\" is invalid: spec.colour: Required value\n"
    );
    assert_has(
        &refused(r#"{"spec": {"replicas": "many"}}"#),
        "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
    );
    space.file("more.yaml", &widget(&group, "red, taste: sweet"));
    assert_has(&space.refused("apply -f more.yaml"), "unknown field \"spec.taste\"");
    let warned = space.kubectl("apply -f more.yaml --validate=warn");
    assert_has(&warned.err, "Warning: unknown field \"spec.taste\"");
    warned.ok();
    assert_lacks(&space.run(&format!("get widget.{group} a -o jsonpath={{.spec}}")), "taste");
}

#[test]
fn objects_go_with_their_definition() {
    let (space, group) = with_widgets();
    space.run(&format!("delete crd widgets.{group}"));
    assert_has(
        &space.refused(&format!("get widgets.{group}")),
        "the server doesn't have a resource type \"widgets\"",
    );
    assert_eq!(space.run(&format!("api-resources --api-group={group} --no-headers")), "");
    assert_has(
        &space.refused(&format!("explain widgets --api-version={group}/v1")),
        &format!("couldn't find resource for \"{group}/v1, Resource=widgets\""),
    );
}

#[test]
fn a_definition_that_makes_no_sense_is_refused() {
    let space = Space::new();
    let group = format!("{}.example.com", space.namespace());
    space.file(
        "crd.yaml",
        &widgets(&group).replace(&format!("name: widgets.{group}"), &format!("name: gadgets.{group}")),
    );
    assert_has(
        &space.refused("apply -f crd.yaml"),
        &format!(
            "metadata.name: Invalid value: \"gadgets.{group}\": must be spec.names.plural+\".\"+spec.group"
        ),
    );
    space.file("crd.yaml", &widgets(&group).replace("minimum: 0", "minimum: lots"));
    assert_has(&space.refused("apply -f crd.yaml"), "cannot be handled as a CustomResourceDefinition");
}
