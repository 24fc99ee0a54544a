//! JSON over HTTP to a driver on this machine.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// A client of one driver.
pub(super) struct Wire {
    client: Client<HttpConnector, Full<Bytes>>,
    base: String,
}

impl Wire {
    pub(super) fn new(base: String) -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()), base }
    }

    /// Asks, and returns the `value` of the answer; the error is what the driver says.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let answer = self.client.request(request).await.map_err(|error| error.to_string())?;
        let is_good = answer.status().is_success();
        let bytes = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        match is_good {
            true => Ok(answer["value"].take()),
            false => Err(answer["value"]["message"].as_str().unwrap_or_default().to_owned()),
        }
    }
}
