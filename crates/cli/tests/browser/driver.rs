//! Somebody at a browser: Chromium, steered by its driver as WebDriver describes it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use hyper::Method;
use serde_json::{Value, json};

use super::wire::Wire;

/// So often is looked, which is longer than anything takes on a busy machine.
const LOOKS: usize = 1_200;
const LOOK: Duration = Duration::from_millis(100);

/// Keys that are no letters.
pub(super) const TAB: &str = "\u{e004}";
pub(super) const ENTER: &str = "\u{e007}";

pub(super) struct Browser {
    driver: Child,
    wire: Wire,
    session: String,
    base: String,
}

// === impl Browser ===

impl Browser {
    /// A browser on the pages below an address.
    pub(super) async fn open(base: &str) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is there: `cargo xtask test` installs it, or install the package chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            Some(line.ok()?.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned())
        });
        // What it says later is read and not kept: a driver whose words nobody takes stops.
        std::thread::spawn(move || lines.for_each(drop));
        let wire = Wire::new(format!("http://127.0.0.1:{}", port.expect("the driver says its port")));
        let options = json!({"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--window-size=1200,800"]});
        let wanted = json!({"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}}}});
        let session = wire.ask(Method::POST, "/session", Some(wanted)).await.unwrap();
        let session = session["sessionId"].as_str().unwrap().to_owned();
        Self { driver, wire, session, base: base.trim_end_matches('/').to_owned() }
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

    /// The words of an element; none while it is not there.
    pub(super) async fn text(&self, css: &str) -> Option<String> {
        let script = format!("return document.querySelector({})?.innerText ?? null", json!(css));
        self.run(&script).await.as_str().map(str::to_owned)
    }

    /// Waits until an element's words are as they should be, and returns them. The page is left alone meanwhile.
    pub(super) async fn until(&self, css: &str, is: impl Fn(&str) -> bool) -> String {
        let mut last = None;
        for _ in 0..LOOKS {
            last = self.text(css).await;
            if let Some(text) = last.as_ref().filter(|text| is(text)) {
                return text.clone();
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!(
            "{css} does not come to say that; it says {last:?}, on\n{}",
            self.run("return document.body.innerText").await
        )
    }

    /// Waits until an element says something.
    pub(super) async fn until_says(&self, css: &str, words: &str) -> String {
        self.until(css, |text| text.contains(words)).await
    }

    async fn find(&self, css: &str) -> String {
        let found = self.ask("/element", json!({"using": "css selector", "value": css})).await;
        let found = found.as_object().and_then(|found| found.values().next()?.as_str().map(str::to_owned));
        found.unwrap()
    }

    pub(super) async fn click(&self, css: &str) {
        let element = self.find(css).await;
        self.ask(&format!("/element/{element}/click"), json!({})).await;
    }

    pub(super) async fn type_into(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.ask(&format!("/element/{element}/value"), json!({"text": text})).await;
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

    /// Goes on with the tabulator until what has the focus matches.
    pub(super) async fn tab_to(&self, css: &str) {
        let script = format!("return document.activeElement?.matches({}) ?? false", json!(css));
        for _ in 0..80 {
            if self.run(&script).await == true {
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

    /// Ends it. What was not ended ends with its driver.
    pub(super) async fn close(self) {
        let _ = self.try_ask(Method::DELETE, "", None).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
