//! Made-up selectors, over objects that have something to select.

use anyhow::Result;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::dice::Dice;
use super::findings::Findings;
use super::servers::{Servers, Side};

/// How many objects of each kind there are.
const OBJECTS: usize = 24;
/// What the names of all objects begin with: other tests may use the same real server.
const STEM: &str = "selected-";

const KEYS: [&str; 6] = ["app", "tier", "example.com/zone", "n", "in", "missing"];
const VALUES: [&str; 8] = ["a", "b", "", "1", "7", "-3", "notin", "x.y_z"];

/// What may come after a field in a selector of fields.
const FIELDS: [(&str, &[&str]); 22] = [
    ("metadata.name", &["selected-3", "selected-10", "nobody", ""]),
    ("metadata.namespace", &["selectors", "selectors-2", "", "default"]),
    ("spec.nodeName", &["n1", "n2", ""]),
    ("spec.restartPolicy", &["Always", "Never"]),
    ("spec.schedulerName", &["default-scheduler", "mine"]),
    ("spec.serviceAccountName", &["", "a"]),
    ("spec.hostNetwork", &["true", "false", ""]),
    ("status.phase", &["Pending", "Running", "Active", ""]),
    ("status.podIP", &["10.0.0.1", ""]),
    ("status.podIPs", &["10.0.0.1", ""]),
    ("status.nominatedNodeName", &["n1", ""]),
    ("spec.unschedulable", &["true", "false", ""]),
    ("type", &["Opaque", "example.com/t"]),
    ("spec.type", &["ClusterIP", ""]),
    ("name", &["selected-3", "nobody"]),
    ("spec.clusterIP", &["None", ""]),
    ("spec.colour", &["red"]),
    ("involvedObject.kind", &["Pod", "Node", ""]),
    ("involvedObject.name", &["selected-3", "selected-4"]),
    ("regarding.kind", &["Pod"]),
    ("reason", &["A", "B", ""]),
    ("source", &["c", "r", ""]),
];

const COLLECTIONS: [&str; 11] = [
    "/api/v1/namespaces/selectors/pods",
    "/api/v1/namespaces/selectors/configmaps",
    "/api/v1/namespaces/selectors/secrets",
    "/api/v1/namespaces/selectors/services",
    "/api/v1/namespaces/selectors/serviceaccounts",
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/apis/coordination.k8s.io/v1/namespaces/selectors/leases",
    "/api/v1/namespaces/selectors/events",
    "/apis/events.k8s.io/v1/namespaces/selectors/events",
];

/// A list that is asked for.
#[derive(Clone)]
struct Query {
    collection: &'static str,
    labels: Option<String>,
    fields: Option<String>,
}

/// What must be the same of an answer: its code and reason, and the names in a list.
#[derive(Debug, PartialEq)]
struct Names {
    code: u16,
    reason: String,
    names: Vec<String>,
}

/// Asks for this many lists. The namespace of the servers must be `selectors`.
pub(crate) async fn compare(servers: &Servers, seed: u64, requests: usize) -> Result<Findings> {
    fill(servers, seed).await?;
    let mut findings = Findings::default();
    for case in 0..requests {
        let query = make_query(&mut Dice::of(seed, case));
        let Some(gist) = difference(servers, &query).await? else { continue };
        if findings.is_full() {
            break;
        }
        let gist = format!("{} {gist}", query.collection);
        if !findings.count(&gist) {
            let smallest = shrink(servers, query).await?;
            let (real, embedded) = ask(servers, &smallest).await?;
            let text = format!(
                "case {case}\n  labels {:?}\n  fields {:?}\n  real     {real:?}\n  embedded {embedded:?}",
                smallest.labels, smallest.fields
            );
            eprintln!("--- {gist}\n{text}");
            findings.add(gist, text);
        }
    }
    Ok(findings)
}

// === objects ===

async fn fill(servers: &Servers, seed: u64) -> Result<()> {
    // Far from the cases, which count from zero.
    let dice = &mut Dice::of(seed, usize::MAX);
    let second = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "selectors-2"}});
    create(servers, "/api/v1/namespaces", second).await?;
    for place in 0..OBJECTS {
        for collection in COLLECTIONS {
            let object = make_object(collection, &format!("{STEM}{place}"), dice);
            let target = match collection {
                "/api/v1/pods" => "/api/v1/namespaces/selectors-2/pods",
                // It is another view of the events that are there already.
                "/apis/events.k8s.io/v1/namespaces/selectors/events" => continue,
                other => other,
            };
            create(servers, target, object).await?;
            if collection == "/api/v1/namespaces/selectors/pods" && dice.percent(50) {
                let status =
                    json!({"status": {"phase": dice.pick(&["Running", "Failed"]), "podIP": "10.0.0.1"}});
                let path = format!("{target}/{STEM}{place}/status");
                let ask = Ask::patch(path, "application/merge-patch+json", status);
                let (real, embedded) = servers.ask(&ask, "").await?;
                anyhow::ensure!(real.code == 200 && embedded.code == 200, "cannot give a status: {ask}");
            }
        }
    }
    Ok(())
}

async fn create(servers: &Servers, path: &str, object: Value) -> Result<()> {
    let ask = Ask::post(path.to_owned(), object);
    let (real, embedded) = servers.ask(&ask, "").await?;
    anyhow::ensure!(real.code == 201 && embedded.code == 201, "{} and {}: {ask}", real.code, embedded.code);
    Ok(())
}

fn make_object(collection: &str, name: &str, dice: &mut Dice) -> Value {
    let mut labels = Map::new();
    for _ in 0..dice.below(4) {
        // The last key is nobody's, and a value that begins with a sign is no label.
        let value = *dice.pick(&["a", "b", "", "1", "7", "notin", "x.y_z"]);
        labels.insert((*dice.pick(&KEYS[..5])).to_owned(), value.into());
    }
    let mut object = json!({"metadata": {"name": name, "labels": labels}});
    match collection.rsplit('/').next() {
        Some("pods") => {
            object["spec"] = json!({"containers": [{"name": "a", "image": "app:1"}]});
            for (field, values) in [
                ("nodeName", ["n1", "n2"]),
                ("restartPolicy", ["Never", "Always"]),
                ("schedulerName", ["mine", "mine"]),
            ] {
                if dice.percent(50) {
                    object["spec"][field] = (*dice.pick(&values)).into();
                }
            }
            object["spec"]["hostNetwork"] = dice.percent(30).into();
        }
        Some("nodes") => object["spec"] = json!({"unschedulable": dice.percent(50)}),
        Some("events") => {
            let about = json!({"kind": dice.pick(&["Pod", "Node"]), "name": name, "namespace": "selectors"});
            object["involvedObject"] = about;
            for (field, value) in [("reason", "A"), ("type", "Normal"), ("reportingComponent", "r")] {
                if dice.percent(50) {
                    object[field] = value.into();
                }
            }
            if dice.percent(50) {
                object["source"] = json!({"component": "c"});
            }
        }
        Some("secrets") => object["type"] = (*dice.pick(&["Opaque", "example.com/t"])).into(),
        Some("services") => object["spec"] = json!({"clusterIP": "None", "selector": {"a": "b"}}),
        _ => {}
    }
    object
}

// === selectors ===

fn make_query(dice: &mut Dice) -> Query {
    let collection = *dice.pick(&COLLECTIONS);
    let labels = dice.percent(65).then(|| damaged(&labels(dice), "!=<>(), \tin/.a1-_\"", dice));
    let fields = (labels.is_none() || dice.percent(20)).then(|| damaged(&fields(dice), "!=,\\ .a1\"", dice));
    Query { collection, labels, fields }
}

fn labels(dice: &mut Dice) -> String {
    let parts: Vec<String> = (0..1 + dice.below(3)).map(|_| requirement(dice)).collect();
    let space = if dice.once_in(6) { " " } else { "" };
    parts.join(&format!("{space},{space}"))
}

fn requirement(dice: &mut Dice) -> String {
    let (key, value) = (*dice.pick(&KEYS), *dice.pick(&VALUES));
    let values = |dice: &mut Dice| {
        let values: Vec<&str> = (0..dice.below(4)).map(|_| *dice.pick(&VALUES[..5])).collect();
        values.join(if dice.once_in(4) { ", " } else { "," })
    };
    match dice.below(10) {
        0 => key.to_owned(),
        1 => format!("!{key}"),
        2 => format!("{key}={value}"),
        3 => format!("{key}=={value}"),
        4 | 5 => format!("{key}!={value}"),
        6 => format!("{key} in ({})", values(dice)),
        7 => format!("{key} notin ({})", values(dice)),
        8 => format!("{key}>{}", dice.pick(&["0", "1", "5", "-4", "x"])),
        _ => format!("{key}<{}", dice.pick(&["0", "8", "2", "+9", ""])),
    }
}

fn fields(dice: &mut Dice) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + dice.below(2) {
        let (field, values) = dice.pick(&FIELDS);
        let operator = *dice.pick(&["=", "==", "!="]);
        parts.push(format!("{field}{operator}{}", dice.pick(values)));
    }
    parts.join(",")
}

/// Most selectors as they are; some with a letter too many, or one too few.
fn damaged(selector: &str, letters: &str, dice: &mut Dice) -> String {
    let mut text: Vec<char> = selector.chars().collect();
    let letters: Vec<char> = letters.chars().collect();
    while dice.once_in(4) {
        let place = dice.below(text.len() + 1);
        match dice.below(3) {
            0 => text.insert(place, *dice.pick(&letters)),
            1 if place < text.len() => drop(text.remove(place)),
            _ if place < text.len() => text[place] = *dice.pick(&letters),
            _ => {}
        }
    }
    text.into_iter().collect()
}

// === asking ===

async fn difference(servers: &Servers, query: &Query) -> Result<Option<String>> {
    let (real, embedded) = ask(servers, query).await?;
    Ok((real != embedded).then(|| match (real.code, embedded.code) {
        (200, 200) => "lists other names".to_owned(),
        _ => format!("real {} {} / embedded {} {}", real.code, real.reason, embedded.code, embedded.reason),
    }))
}

async fn ask(servers: &Servers, query: &Query) -> Result<(Names, Names)> {
    let mut path = format!("{}?limit=1000", query.collection);
    for (name, selector) in [("labelSelector", &query.labels), ("fieldSelector", &query.fields)] {
        if let Some(selector) = selector {
            path += &format!("&{name}={}", utf8_percent_encode(selector, NON_ALPHANUMERIC));
        }
    }
    let ask = Ask::get(path);
    tokio::try_join!(names(&servers.real, &ask), names(&servers.embedded, &ask))
}

async fn names(side: &Side, ask: &Ask) -> Result<Names> {
    let (code, body) = side.send(ask, "").await?;
    let items = body["items"].as_array().into_iter().flatten();
    let names = items.filter_map(|item| {
        let name = item["metadata"]["name"].as_str()?;
        let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
        name.starts_with(STEM).then(|| format!("{namespace}/{name}"))
    });
    let mut names: Vec<String> = names.collect();
    // Whether a namespace comes before one whose name begins with its own is the server's affair.
    names.sort();
    Ok(Names { code, reason: body["reason"].as_str().unwrap_or_default().to_owned(), names })
}

/// The same difference with fewer letters.
async fn shrink(servers: &Servers, query: Query) -> Result<Query> {
    let mut smallest = query;
    let gist = difference(servers, &smallest).await?;
    'again: loop {
        for candidate in smaller(&smallest) {
            if difference(servers, &candidate).await? == gist {
                smallest = candidate;
                continue 'again;
            }
        }
        return Ok(smallest);
    }
}

fn smaller(query: &Query) -> Vec<Query> {
    let shorter = |text: &Option<String>| -> Vec<Option<String>> {
        let Some(text) = text else { return Vec::new() };
        let letters: Vec<char> = text.chars().collect();
        let without = |place: usize| {
            let kept = letters.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, letter)| *letter);
            Some(kept.collect::<String>())
        };
        std::iter::once(None).chain((0..letters.len()).map(without)).collect()
    };
    let labels = shorter(&query.labels).into_iter().map(|labels| Query { labels, ..query.clone() });
    let fields = shorter(&query.fields).into_iter().map(|fields| Query { fields, ..query.clone() });
    labels.chain(fields).collect()
}
