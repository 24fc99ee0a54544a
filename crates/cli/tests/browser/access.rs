//! Pages for everybody: no serious fault that axe finds, nothing in the console, on a phone as well, in light and in dark. Pictures of
//! them are taken on the way: `SAFEPOINT_PICTURES=FOLDER` keeps them.

use std::path::PathBuf;
use std::{env, fs};

use serde_json::{Value, json};

use super::driver::Browser;
use super::world::World;

const PAGES: [(&str, &str); 6] = [
    ("fleet", "/"),
    ("held", "/held"),
    ("node", "/nodes/rover-7"),
    ("freeze", "/nodes/rover-7/freeze"),
    ("static-pod", "/static-pods/default/beacon"),
    ("log", "/log"),
];

/// Faults that keep somebody from using the page.
async fn faults(browser: &Browser) -> Vec<Value> {
    let axe =
        fs::read_to_string(safepoint_testkit::axe().unwrap()).expect("`cargo xtask test` fetches axe-core");
    browser.run(&axe).await;
    let found = browser
        .run_long("const done = arguments[arguments.length - 1]; axe.run().then((it) => done(it.violations))")
        .await;
    let found = found.as_array().expect("axe has looked").clone();
    let of = |fault: Value| json!({"id": fault["id"], "impact": fault["impact"], "nodes": fault["nodes"]});
    let is_serious = |fault: &Value| matches!(fault["impact"].as_str(), Some("serious" | "critical"));
    found.into_iter().filter(is_serious).map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_keeps_anybody_out() {
    let world = World::start(&["--demo", "--nodes=24"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.go("/").await;
    assert_eq!(faults(&browser).await, [] as [Value; 0], "signing in");
    browser.sign_in(&world.token, "/static-pods").await;
    browser.until_says("#static-pods", "default/beacon").await;
    browser.go("/nodes/rover-7").await;
    browser.until_says("#held", "update of pod default/rover").await;
    let folder = env::var_os("SAFEPOINT_PICTURES").map(PathBuf::from);
    for scheme in ["light", "dark"] {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.command("Emulation.setEmulatedMedia", media).await;
        for (name, path) in PAGES {
            browser.go(path).await;
            assert_eq!(faults(&browser).await, [] as [Value; 0], "{name}, {scheme}");
            let picture = browser.picture().await;
            assert!(picture.starts_with(b"\x89PNG"));
            if let Some(folder) = &folder {
                fs::write(folder.join(format!("{name}-{scheme}.png")), picture).unwrap();
            }
        }
    }
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.command("Emulation.setDeviceMetricsOverride", phone).await;
    for (name, path) in PAGES {
        browser.go(path).await;
        let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await;
        assert!(wide.as_i64().is_some_and(|wide| wide <= 0), "{name} is {wide} too wide for a phone");
    }
    assert_eq!(browser.console().await, [""; 0]);
    let policy = browser
        .run_long(
            "const done = arguments[arguments.length - 1]; \
             fetch('/').then((it) => done(it.headers.get('content-security-policy')))",
        )
        .await;
    let policy = policy.as_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe-"), "{policy}");
    browser.close().await;
}
