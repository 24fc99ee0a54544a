//! Somebody at a browser: Chromium, steered by its driver as WebDriver describes it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use hyper::Method;
use serde_json::{Value, json};

use super::wire::Wire;

/// So often is looked: for five minutes, which is longer than anything takes on a busy machine.
const LOOKS: usize = 3_000;
const LOOK: Duration = Duration::from_millis(100);
/// How long a script may take, in milliseconds.
const SCRIPT: u32 = 300_000;

/// Keys that are no letters.
pub(super) const TAB: &str = "\u{e004}";
pub(super) const ENTER: &str = "\u{e007}";

pub(super) struct Browser {
    /// All processes end with it, those of the browser included.
    driver: Child,
    /// Where they keep what they keep.
    _folder: tempfile::TempDir,
    wire: Wire,
    session: String,
    base: String,
}

// === impl Browser ===

impl Browser {
    /// A browser on the pages below an address.
    pub(super) async fn open(base: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut driver = Command::new("unshare")
            .args(["--pid", "--mount-proc", "--fork", "--kill-child", "chromedriver", "--port=0"])
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            Some(line.ok()?.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned())
        });
        // What it says later is read and not kept: a driver whose words nobody takes stops.
        std::thread::spawn(move || lines.for_each(drop));
        let port = port.expect(
            "chromedriver says its port: `cargo xtask test` installs it, as the package chromium-driver",
        );
        let wire = Wire::new(format!("http://127.0.0.1:{port}"));
        let options =
            json!({"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
        let wanted = json!({"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": {"script": SCRIPT}}}});
        let session = wire.ask(Method::POST, "/session", Some(wanted)).await.unwrap();
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let base = base.trim_end_matches('/').to_owned();
        let browser = Self { driver, _folder: folder, wire, session, base };
        browser.screen(1280, 800, false).await;
        browser
    }

    /// Gives it a screen of this size.
    pub(super) async fn screen(&self, width: u32, height: u32, is_phone: bool) {
        let scale = if is_phone { 2 } else { 1 };
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone});
        self.command("Emulation.setDeviceMetricsOverride", metrics).await;
        self.command("Emulation.setScrollbarsHidden", json!({"hidden": true})).await;
    }

    /// Prefers light or dark.
    pub(super) async fn scheme(&self, scheme: &str) {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", media).await;
    }

    async fn try_ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        self.wire.ask(method, &format!("/session/{}{path}", self.session), body).await
    }

    async fn ask(&self, path: &str, body: Value) -> Value {
        let answer = self.try_ask(Method::POST, path, Some(body)).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Goes to a page.
    pub(super) async fn go(&self, path: &str) {
        self.ask("/url", json!({"url": format!("{}{path}", self.base)})).await;
    }

    /// Runs a script in the page and returns what it returns.
    pub(super) async fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// The same for one that takes a while and calls back with what it found.
    pub(super) async fn run_long(&self, script: &str) -> Value {
        self.ask("/execute/async", json!({"script": script, "args": []})).await
    }

    /// Looks again and again until the browser has done what it is asked and the answer is as it should be. What it cannot do
    /// now, because a page or a piece of it is just being replaced, it can do in a moment.
    async fn again<T>(&self, what: &str, path: &str, body: &Value, is: impl Fn(&Value) -> Option<T>) -> T {
        let mut last = Ok(Value::Null);
        for _ in 0..LOOKS {
            last = self.try_ask(Method::POST, path, Some(body.clone())).await;
            if let Some(found) = last.as_ref().ok().and_then(&is) {
                return found;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("{what}; last {last:?}, on\n{}", self.run("return document.body.innerText").await)
    }

    /// Waits until a script that may be run again and again returns true.
    pub(super) async fn until_true(&self, expression: &str) {
        let body = json!({"script": format!("return {expression}"), "args": []});
        let what = format!("{expression} does not come true");
        self.again(&what, "/execute/sync", &body, |it| (it == true).then_some(())).await;
    }

    /// Waits until an element's words are as they should be, and returns them. The page is left alone meanwhile.
    pub(super) async fn until(&self, css: &str, is: impl Fn(&str) -> bool) -> String {
        // What is hidden says nothing.
        let script = "const it = document.querySelector(arguments[0]); return it?.checkVisibility() ? it.innerText : it && ''";
        let body = json!({"script": script, "args": [css]});
        let said = |found: &Value| found.as_str().filter(|text| is(text)).map(str::to_owned);
        self.again(&format!("{css} does not come to say that"), "/execute/sync", &body, said).await
    }

    /// Waits until an element says something.
    pub(super) async fn until_says(&self, css: &str, words: &str) -> String {
        self.until(css, |text| text.contains(words)).await
    }

    /// Does something to an element, which may be replaced by a newer one meanwhile.
    async fn to(&self, css: &str, what: &str, body: Value) {
        let wanted = json!({"using": "css selector", "value": css});
        let id = |found: &Value| found.as_object()?.values().next()?.as_str().map(str::to_owned);
        let mut last = Ok(Value::Null);
        for _ in 0..LOOKS {
            let element = self.again(&format!("there is no {css}"), "/element", &wanted, id).await;
            last =
                self.try_ask(Method::POST, &format!("/element/{element}/{what}"), Some(body.clone())).await;
            if last.is_ok() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("{what} of {css}: {last:?}")
    }

    pub(super) async fn click(&self, css: &str) {
        self.to(css, "click", json!({})).await;
    }

    pub(super) async fn type_into(&self, css: &str, text: &str) {
        self.to(css, "value", json!({"text": text})).await;
    }

    /// Asks for what is on the page of an act: with a reason, and a click.
    pub(super) async fn ask_for(&self, reason: &str) {
        self.type_into("#reason", reason).await;
        self.click("#ask button").await;
    }

    /// Presses keys, wherever the focus is.
    pub(super) async fn press(&self, keys: &str) {
        let each = keys.chars().flat_map(|key| {
            [
                json!({"type": "keyDown", "value": key.to_string()}),
                json!({"type": "keyUp", "value": key.to_string()}),
            ]
        });
        let actions: Vec<Value> = each.collect();
        self.ask("/actions", json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}))
            .await;
    }

    /// Waits until this has the focus.
    pub(super) async fn until_focused(&self, css: &str) {
        self.until_true(&format!("document.activeElement?.matches({})", json!(css))).await;
    }

    /// Goes on with the tabulator until what has the focus matches, and asserts that it can be seen to have it.
    pub(super) async fn tab_to(&self, css: &str) {
        let script = format!("return document.activeElement?.matches({}) ?? false", json!(css));
        for _ in 0..200 {
            if self.run(&script).await == true {
                let outline = self.run("return getComputedStyle(document.activeElement).outlineStyle").await;
                assert_ne!(outline, "none", "nobody sees that {css} has the focus");
                return;
            }
            self.press(TAB).await;
        }
        panic!("nobody gets to {css} with the tabulator");
    }

    /// Says the browser's own commands.
    pub(super) async fn command(&self, name: &str, parameters: Value) {
        self.ask("/goog/cdp/execute", json!({"cmd": name, "params": parameters})).await;
    }

    /// What the page has written into the console since this was asked last.
    pub(super) async fn console(&self) -> Vec<String> {
        let log = self.ask("/se/log", json!({"type": "browser"})).await;
        log.as_array()
            .into_iter()
            .flatten()
            .map(|entry| format!("{} {}", entry["level"], entry["message"]))
            .collect()
    }

    /// What is seen now, as PNG.
    pub(super) async fn picture(&self) -> Vec<u8> {
        let picture = self.try_ask(Method::GET, "/screenshot", None).await.unwrap();
        base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap()).unwrap()
    }

    /// Signs in, and looks at a page.
    pub(super) async fn sign_in(&self, token: &str, path: &str) {
        self.go(path).await;
        self.type_into("#token", token).await;
        self.click("#sign-in button").await;
        self.until(".who", |who| !who.is_empty()).await;
    }

    /// Marks the page. The mark is gone once it is loaded anew.
    pub(super) async fn mark(&self) {
        self.run("window.marked = true").await;
    }

    pub(super) async fn is_marked(&self) -> bool {
        self.run("return window.marked === true").await == true
    }

    /// Ends it, and asserts that no page has complained. What was not ended ends with its driver.
    pub(super) async fn close(self) {
        assert_eq!(self.console().await, [""; 0], "the console");
        self.try_ask(Method::DELETE, "", None).await.unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
