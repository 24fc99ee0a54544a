//! Pages for everybody: no fault that axe finds, nothing that a page may not do, in light, in dark and on a phone. Pictures for the
//! documentation are taken on the way: `SAFEPOINT_PICTURES=docs/pictures` keeps them.

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use super::driver::Browser;
use super::world::World;

const PAGES: [(&str, &str); 14] = [
    ("fleet", "/"),
    ("groups", "/?group=kubernetes.io/hostname"),
    ("held", "/held"),
    ("node", "/nodes/rover-7"),
    ("freeze", "/nodes/rover-7/freeze"),
    ("thaw", "/nodes/rover-7/thaw"),
    ("release", "/nodes/rover-7/release?kind=Pod&namespace=default&name=rover"),
    ("workload", "/workloads/default/Pod/rover"),
    ("static-pods", "/static-pods"),
    ("static-pod", "/static-pods/default/beacon"),
    ("pause", "/static-pods/default/beacon/pause"),
    ("resume", "/static-pods/default/beacon/resume"),
    ("roll-back", "/static-pods/default/beacon/roll-back"),
    ("log", "/log"),
];
/// Pages that say no.
const REFUSALS: [&str; 3] = ["/nowhere", "/nodes/nobody", "/?page=x"];
/// How one looks at them: by name, with the width and the height of the screen.
const VIEWS: [(&str, &str, u32, u32); 3] =
    [("desk", "light", 1280, 800), ("night", "dark", 1280, 800), ("phone", "dark", 360, 740)];
/// What is shown in the documentation: the view, the page, and the file.
const PICTURES: [(&str, &str, &str); 3] =
    [("desk", "fleet", "fleet.png"), ("desk", "node", "node.png"), ("phone", "workload", "phone.png")];

/// Keeps what is seen now, if somebody wants pictures.
async fn keep(browser: &Browser, file: &str) {
    if let Some(folder) = env::var_os("SAFEPOINT_PICTURES") {
        // Where cargo runs tests is not where it was called.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::write(root.join(folder).join(file), browser.picture().await).unwrap();
    }
}

/// What keeps somebody from using the page, however little.
async fn faults(browser: &Browser) -> Vec<String> {
    let axe =
        fs::read_to_string(safepoint_testkit::axe().unwrap()).expect("`cargo xtask test` fetches axe-core");
    browser.run(&axe).await;
    let found = browser
        .run_long("const done = arguments[arguments.length - 1]; axe.run().then((it) => done(it.violations))")
        .await;
    let of = |fault: &Value| {
        let nodes = fault["nodes"].as_array().into_iter().flatten();
        let nodes: Vec<String> =
            nodes.map(|node| format!("{}: {}", node["target"], node["failureSummary"])).collect();
        format!("{} {} {}", fault["impact"], fault["id"], nodes.join("; "))
    };
    found.as_array().expect("axe has looked").iter().map(of).collect()
}

/// A node that is frozen and holds an upgrade, and a roll-out that is stopped half-way.
async fn busy_world(browser: &Browser, world: &World) {
    world.rover();
    browser.sign_in(&world.token, "/nodes/rover-7/freeze").await;
    browser.ask_for("mission 7").await;
    browser.until_says("#standing .badge", "frozen").await;
    world.push("v2");
    browser.until_says("#held", "update of pod default/rover").await;
    world.beacon();
    browser.go("/static-pods").await;
    browser.until_says("#static-pods", "default/beacon").await;
    browser.go("/static-pods/default/beacon").await;
    world.pause_beacon(false);
    let upgraded = |text: &str| text.split(' ').next().and_then(|number| number.parse::<u32>().ok());
    let is_half_way = |text: &str| upgraded(text) >= Some(8) && !text.contains(" 0 under way");
    browser.until("#progress [role=status]", is_half_way).await;
    keep(browser, "roll-out.png").await;
    world.pause_beacon(true);
    browser.until_says("#progress", "no further upgrade is started").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_keeps_anybody_out() {
    let world = World::start(&["--nodes=24"]);
    let browser = Browser::open(&world.dashboard).await;
    browser.go("/").await;
    assert_eq!(faults(&browser).await, [""; 0], "signing in");
    busy_world(&browser, &world).await;
    for (view, scheme, width, height) in VIEWS {
        browser.scheme(scheme).await;
        browser.screen(width, height, view == "phone").await;
        for (page, path) in PAGES {
            browser.go(path).await;
            browser.run("for (const it of document.querySelectorAll('details')) it.open = true").await;
            assert_eq!(faults(&browser).await, [""; 0], "{page}, {view}");
            let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await;
            assert!(wide.as_i64().is_some_and(|wide| wide <= 0), "{page} is {wide} too wide, {view}");
            if let Some((.., file)) = PICTURES.iter().find(|(of, what, _)| (*of, *what) == (view, page)) {
                keep(&browser, file).await;
            }
        }
    }
    // A page that says no says it in its code too, which the browser writes into its console.
    assert_eq!(browser.console().await, [""; 0]);
    for path in REFUSALS {
        browser.go(path).await;
        browser.until("#refusal", |why| !why.is_empty()).await;
        assert_eq!(faults(&browser).await, [""; 0], "{path}");
    }
    let complaints = browser.console().await;
    assert!(complaints.iter().all(|it| it.contains("responded with a status of 40")), "{complaints:?}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_runs_and_shows_nothing_that_was_written_into_it() {
    let world = World::start(&[]);
    let browser = Browser::open(&world.dashboard).await;
    browser.sign_in(&world.token, "/").await;
    let policy = browser
        .run_long(
            "const done = arguments[arguments.length - 1];
             fetch('/').then((it) => done(it.headers.get('content-security-policy')))",
        )
        .await;
    let policy = policy.as_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe-"), "{policy}");

    let forbidden = browser
        .run_long(
            "const done = arguments[arguments.length - 1];
             const forbidden = [];
             document.addEventListener('securitypolicyviolation', (event) => {
               forbidden.push(event.effectiveDirective);
               if (forbidden.length === 3) done(forbidden.sort());
             });
             const script = document.createElement('script');
             script.textContent = 'window.ran = true';
             const style = document.createElement('style');
             style.textContent = 'body { display: none }';
             const image = new Image();
             image.src = 'https://elsewhere.invalid/picture.png';
             document.body.append(script, style, image);",
        )
        .await;
    assert_eq!(forbidden, serde_json::json!(["img-src", "script-src-elem", "style-src-elem"]));
    assert_eq!(browser.run("return window.ran ?? false").await, false);
    let complaints = browser.console().await;
    assert_eq!(complaints.len(), 3, "the console is heard: {complaints:?}");
    browser.close().await;
}
