//! The kinds that are compared, and what their objects look like. Pods have a file of their own.

use serde_json::{Value, json};

use super::dice::Dice;
use super::pods;
use super::shape::{
    Member, Shape, always, any, choice, flag, in_patches, keyed, list, map, must, object, often, rarely, set,
};

/// What stands for the name of an object until it is sent. Each try of a request is about another object.
pub(crate) const NAME: &str = "the-object";
/// What stands for the uids of objects that are there on both servers, where they have different ones.
pub(crate) const OWNERS: [&str; 3] = ["uid-of-owner-1", "uid-of-owner-2", "uid-of-owner-3"];

/// A kind of which objects are made up.
pub(crate) struct Kind {
    /// Where it is served: `/api/v1`.
    pub(crate) root: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
    api_version: &'static str,
    kind: &'static str,
    /// The object without its status.
    pub(crate) shape: Shape,
    /// The object with nothing but its status, where that has an address of its own.
    pub(crate) status: Option<Shape>,
    /// Whether a new object may bring its status along.
    is_born_with_status: bool,
}

impl Kind {
    /// The path of its objects in `namespace`.
    pub(crate) fn path(&self, namespace: &str) -> String {
        match self.namespaced {
            true => format!("{}/namespaces/{namespace}/{}", self.root, self.plural),
            false => format!("{}/{}", self.root, self.plural),
        }
    }

    /// Makes up a new object.
    pub(crate) fn make(&self, dice: &mut Dice) -> Value {
        let mut made = self.shape.value(dice);
        if let Some(object) = made.as_object_mut() {
            tame(object.get_mut("metadata"));
            object.insert("apiVersion".to_owned(), self.api_version.into());
            object.insert("kind".to_owned(), self.kind.into());
            if self.is_born_with_status
                && let Some(status) = &self.status
                && let Value::Object(status) = status.value(dice)
            {
                object.extend(status);
            }
        }
        made
    }
}

/// Takes back what no two servers can answer alike: a name that is drawn, and an owner that is not there, for whose sake
/// one of the servers would remove the object.
fn tame(metadata: Option<&mut Value>) {
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else { return };
    if metadata.get("name").is_none_or(Value::is_null) {
        metadata.remove("generateName");
    }
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_named =
            |field: &str| owner.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if is_named("uid") && is_named("name") {
            let place = OWNERS.iter().position(|uid| owner["uid"] == *uid).unwrap_or_default();
            owner["uid"] = OWNERS[place].into();
            owner["name"] = format!("owner-{}", place + 1).into();
        }
    }
}

/// The kinds, those with the most rules most often.
pub(crate) fn kinds() -> Vec<Kind> {
    let core = |plural, kind, shape| Kind {
        root: "/api/v1",
        plural,
        namespaced: true,
        api_version: "v1",
        kind,
        shape,
        status: None,
        is_born_with_status: false,
    };
    let pod = || Kind { status: Some(pods::status()), ..core("pods", "Pod", pods::pod()) };
    let node = || Kind {
        namespaced: false,
        status: Some(node_status()),
        is_born_with_status: true,
        ..core("nodes", "Node", node_shape())
    };
    vec![
        pod(),
        pod(),
        pod(),
        node(),
        node(),
        core("configmaps", "ConfigMap", config_map()),
        core("secrets", "Secret", secret()),
        core("serviceaccounts", "ServiceAccount", service_account()),
        core("services", "Service", service()),
        Kind {
            root: "/apis/coordination.k8s.io/v1",
            api_version: "coordination.k8s.io/v1",
            ..core("leases", "Lease", lease())
        },
        Kind {
            root: "/apis/admissionregistration.k8s.io/v1",
            api_version: "admissionregistration.k8s.io/v1",
            namespaced: false,
            ..core("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", hooks())
        },
    ]
}

/// A whole object: its metadata and these members.
pub(crate) fn whole(mut members: Vec<Member>) -> Shape {
    members.insert(0, always("metadata", metadata()));
    members.push(in_patches("kind", any(["Pod", "Thing", ""])));
    members.push(in_patches("apiVersion", any(["v1", "v2", ""])));
    object(members)
}

fn metadata() -> Shape {
    object(vec![
        always("name", any([NAME])),
        often("labels", labels()),
        often("annotations", map(&["a", "b", "example.com/c"], any(["", "1", "two words"]))),
        often(
            "finalizers",
            set(any(["example.com/a", "example.com/b", "example.com/c"]).or([
                "x",
                "a b",
                "",
                "example.com/",
            ])),
        ),
        often(
            "ownerReferences",
            keyed(
                "uid",
                vec![
                    always("uid", any(OWNERS).or(["", "nobody"])),
                    always("apiVersion", any(["v1"]).or(["", "a/b/c"])),
                    always("kind", any(["ConfigMap"]).or(["", "Event"])),
                    always("name", any(["owner-1", "owner-2"]).or([""])),
                    rarely("controller", flag()),
                    rarely("blockOwnerDeletion", flag()),
                ],
            ),
        ),
        rarely("generateName", any(["gen-"]).or(["-gen"])),
        in_patches("generation", any([0, 1, 7])),
        in_patches("resourceVersion", any(["1", "0", "", "x"])),
        in_patches("uid", any(["", "another"])),
        in_patches("namespace", any(["elsewhere", ""])),
        in_patches("creationTimestamp", time()),
        in_patches("deletionTimestamp", time()),
        in_patches("deletionGracePeriodSeconds", any([0, 30])),
        in_patches("selfLink", any(["/x"])),
    ])
}

pub(crate) fn labels() -> Shape {
    map(&["app", "tier", "example.com/zone"], any(["", "a", "b", "1"]).or(["a b", "-", "é"]))
}

/// A moment long ago: what a server writes itself is never that old, and is not compared.
pub(crate) fn time() -> Shape {
    any([
        json!("2001-02-03T04:05:06Z"),
        json!("2001-02-03T06:05:06+02:00"),
        json!("2001-02-03T04:05:06.5Z"),
        json!(null),
    ])
    .or(["yesterday", "", "2001-02-03"])
}

/// An amount of something.
pub(crate) fn amount() -> Shape {
    any([
        json!("1"),
        json!("500m"),
        json!("1Gi"),
        json!("1024Mi"),
        json!(2),
        json!("0"),
        json!("1.5"),
        json!("1e3"),
    ])
    .or([json!("x"), json!("-1"), json!(""), json!(0.5), json!("1.0005")])
}

fn config_map() -> Shape {
    whole(vec![
        often("data", map(&["a", "b", "c.d"], any(["", "1", "x\ny"]))),
        rarely("binaryData", map(&["x", "y", "a"], any(["", "eA==", "eHg="]).or(["e", "é"]))),
        rarely("immutable", flag()),
    ])
}

fn secret() -> Shape {
    let types = [
        "Opaque",
        "example.com/t",
        "",
        "kubernetes.io/tls",
        "kubernetes.io/basic-auth",
        "kubernetes.io/ssh-auth",
    ];
    whole(vec![
        often(
            "data",
            map(&["a", "b", "tls.crt", "tls.key", "username"], any(["", "eA==", "eHg="]).or(["e", "é"])),
        ),
        rarely("stringData", map(&["a", "b", "tls.key", "password"], any(["", "x"]))),
        rarely("type", any(types)),
        rarely("immutable", flag()),
    ])
}

fn service_account() -> Shape {
    whole(vec![
        often(
            "secrets",
            keyed("name", vec![always("name", any(["a", "b", "c"])), rarely("kind", any(["Secret"]))]),
        ),
        often("imagePullSecrets", list(object(vec![always("name", any(["a", "b"]))]))),
        rarely("automountServiceAccountToken", flag()),
    ])
}

fn service() -> Shape {
    let port = vec![
        always("port", any([80, 81, 443]).or([0, 70_000])),
        always("name", any(["a", "b", "c"]).or(["", "A", "a b"])),
        often("protocol", any(["TCP", "UDP", ""]).or(["X"])),
        often(
            "targetPort",
            any([json!(80), json!("http"), json!(0), json!("81")]).or([json!(70_000), json!("")]),
        ),
        rarely("appProtocol", any(["http", "example.com/x"]).or(["a b"])),
    ];
    let spec = vec![
        // No server of the two hands out the same addresses.
        must("clusterIP", any(["None"])),
        // Without a selector it would be of both families of addresses, of which the real server has one.
        must("selector", any([json!({"app": "a"}), json!({"app": "b"})])),
        always("ports", keyed("port", port)),
        rarely("type", any(["ClusterIP", ""]).or(["Other"])),
        rarely("sessionAffinity", any(["None", "ClientIP", ""]).or(["X"])),
        rarely("publishNotReadyAddresses", flag()),
        rarely("externalIPs", list(any(["10.1.2.3"]).or(["x", "127.0.0.1"]))),
        rarely("internalTrafficPolicy", any(["Cluster", "Local"]).or(["X"])),
        rarely(
            "sessionAffinityConfig",
            object(vec![always(
                "clientIP",
                object(vec![always("timeoutSeconds", any([1, 10_800]).or([0]))]),
            )]),
        ),
    ];
    whole(vec![always("spec", object(spec))])
}

fn lease() -> Shape {
    let moment = || {
        any(["2001-02-03T04:05:06.000001Z", "2001-02-03T06:05:06.000001+02:00"])
            .or(["2001-02-03T04:05:06Z", "x"])
    };
    whole(vec![often(
        "spec",
        object(vec![
            often("holderIdentity", any(["a", "b"]).or([""])),
            often("leaseDurationSeconds", any([1, 15]).or([0, -1])),
            often("leaseTransitions", any([0, 1]).or([-1])),
            often("renewTime", moment()),
            often("acquireTime", moment()),
        ]),
    )])
}

/// Hooks that nobody ever calls: there is no such resource.
fn hooks() -> Shape {
    let rule = vec![
        always("apiGroups", any([json!(["none.example"])])),
        always("apiVersions", list_of(&["v1", "v2"])),
        always("operations", list_of(&["CREATE", "UPDATE"])),
        always("resources", any([json!(["nothings"])])),
        rarely("scope", any(["*", "Namespaced"]).or(["X"])),
    ];
    let client = vec![
        choice(
            "url",
            any(["https://localhost/x", "https://localhost:8443/"]).or(["http://localhost/", "x", ""]),
        ),
        choice(
            "service",
            object(vec![
                always("name", any(["a", "b"]).or([""])),
                always("namespace", any(["n"]).or([""])),
                often("path", any(["/p"]).or(["p"])),
                rarely("port", any([443, 8443]).or([0])),
            ]),
        ),
        rarely("caBundle", any(["eA=="])),
    ];
    let condition = vec![
        always("name", any(["c", "d", "e"]).or(["", "a b"])),
        always("expression", any(["true", "1 == 1"]).or(["", "1 +"])),
    ];
    let hook = vec![
        always("name", any(["a.example.com", "b.example.com", "c.example.com"]).or(["a", ""])),
        always("clientConfig", object(client)),
        always("sideEffects", any(["None", "NoneOnDryRun"]).or(["Some"])),
        always("admissionReviewVersions", list_of(&["v1", "v1beta1"])),
        often("rules", list(object(rule))),
        often("matchConditions", keyed("name", condition)),
        rarely("failurePolicy", any(["Fail", "Ignore"]).or(["X"])),
        rarely("matchPolicy", any(["Exact", "Equivalent"]).or(["X"])),
        rarely("timeoutSeconds", any([1, 30]).or([0, 31])),
        rarely("objectSelector", object(vec![often("matchLabels", labels())])),
    ];
    // Where there are no hooks, an empty list of them counts as a change there.
    whole(vec![must("webhooks", keyed("name", hook))])
}

/// A list of one or two of these.
pub(crate) fn list_of(texts: &[&str]) -> Shape {
    any([json!([texts[0]]), json!(texts)])
}

fn node_shape() -> Shape {
    let taint = vec![
        always("key", any(["a", "b", "example.com/c"]).or(["", "a b"])),
        often("value", any(["", "x"]).or(["a b"])),
        always("effect", any(["NoSchedule", "PreferNoSchedule", "NoExecute"]).or(["", "X"])),
        rarely("timeAdded", time()),
    ];
    let networks = || any(["10.1.0.0/16", "10.2.0.0/16", "2001:db8::/64"]).or(["10.1.0.1/16", "x"]);
    whole(vec![often(
        "spec",
        object(vec![
            often("taints", list(object(taint))),
            often("unschedulable", flag()),
            rarely("podCIDR", networks()),
            rarely("podCIDRs", set(networks())),
            rarely("providerID", any(["x://1", "x://2", ""])),
            in_patches("externalID", any(["e", ""])),
        ]),
    )])
}

fn node_status() -> Shape {
    let condition = vec![
        always("type", any(["Ready", "MemoryPressure", "example.com/x"])),
        always("status", any(["True", "False", "Unknown"])),
        often("reason", any(["A", "B", ""])),
        often("message", any(["", "m"])),
        rarely("lastHeartbeatTime", time()),
        rarely("lastTransitionTime", time()),
    ];
    let address = vec![
        always("type", any(["InternalIP", "Hostname", "ExternalIP"])),
        always("address", any(["10.0.0.1", "10.0.0.2", "n1"])),
    ];
    let resources = || map(&["cpu", "memory", "pods", "example.com/gpu"], amount());
    object(vec![often(
        "status",
        object(vec![
            often("conditions", keyed("type", condition)),
            often("addresses", keyed("type", address)),
            often("capacity", resources()),
            rarely("allocatable", resources().filled()),
            rarely("phase", any(["Running", ""])),
            rarely(
                "nodeInfo",
                object(vec![often("kubeletVersion", any(["v1", ""])), often("architecture", any(["arm64"]))]),
            ),
            rarely(
                "images",
                list(object(vec![often("names", list_of(&["a:1", "b:1"])), often("sizeBytes", any([0, 7]))])),
            ),
            rarely(
                "daemonEndpoints",
                object(vec![often("kubeletEndpoint", object(vec![always("Port", any([0, 10_250]))]))]),
            ),
            rarely("volumesInUse", list_of(&["a", "b"])),
            rarely(
                "volumesAttached",
                list(object(vec![always("name", any(["a"])), always("devicePath", any(["/x", ""]))])),
            ),
        ]),
    )])
}
