//! One HTTP request, as a case writes it and as a failure prints it.

use std::fmt;

use http::{HeaderValue, Method, Request, header};
use kube::client::Body;
use serde_json::Value;

/// A request that is not sent yet.
///
/// The path holds the query as well. Unless told otherwise it comes from the administrator and asks for JSON.
#[derive(Clone, Debug)]
pub struct Call {
    method: Method,
    path: String,
    accept: String,
    content_type: String,
    body: Vec<u8>,
    identity: Identity,
}

/// Who asks.
#[derive(Clone, Debug)]
enum Identity {
    Admin,
    Nobody,
    Bearer(String),
}

// === impl Call ===

impl Call {
    /// A request without a body.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>) -> Call {
        Call {
            method,
            path: path.into(),
            accept: "application/json".to_owned(),
            content_type: "application/json".to_owned(),
            body: Vec::new(),
            identity: Identity::Admin,
        }
    }

    /// Reads `path`.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Call {
        Call::new(Method::GET, path)
    }

    /// Posts `body` to `path`.
    #[must_use]
    pub fn post(path: impl Into<String>, body: &Value) -> Call {
        Call::new(Method::POST, path).json(body)
    }

    /// Carries `body`.
    #[must_use]
    pub fn json(self, body: &Value) -> Call {
        self.raw(body.to_string())
    }

    /// Carries these bytes, whatever they are.
    #[must_use]
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Call {
        self.body = body.into();
        self
    }

    /// Asks for another representation than JSON.
    #[must_use]
    pub fn accept(mut self, accept: impl Into<String>) -> Call {
        self.accept = accept.into();
        self
    }

    /// Says that the body is of another type than JSON.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Call {
        self.content_type = content_type.into();
        self
    }

    /// Comes from nobody in particular.
    #[must_use]
    pub fn anonymous(mut self) -> Call {
        self.identity = Identity::Nobody;
        self
    }

    /// Comes from whoever holds `token`.
    #[must_use]
    pub fn bearer(mut self, token: impl Into<String>) -> Call {
        self.identity = Identity::Bearer(token.into());
        self
    }

    /// The request to send, where `admin` is the administrator's token.
    pub(crate) fn request(&self, admin: &str) -> anyhow::Result<Request<Body>> {
        let token = match &self.identity {
            Identity::Admin => Some(admin),
            Identity::Nobody => None,
            Identity::Bearer(token) => Some(token.as_str()),
        };
        let mut request = Request::builder().method(self.method.clone()).uri(&self.path);
        request = request.header(header::ACCEPT, &self.accept);
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, &self.content_type);
        }
        if let Some(token) = token {
            request =
                request.header(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        Ok(request.body(Body::from(self.body.clone()))?)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.accept != "application/json" {
            write!(f, " (accept {})", self.accept)?;
        }
        if !self.body.is_empty() {
            if self.content_type != "application/json" {
                write!(f, " ({})", self.content_type)?;
            }
            write!(f, "\n           {}", String::from_utf8_lossy(&self.body))?;
        }
        Ok(())
    }
}
