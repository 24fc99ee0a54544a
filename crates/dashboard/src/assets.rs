//! The style, the script and the icon: three files, each under a name that changes with its content.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};

/// A file.
pub(crate) struct Asset {
    name: &'static str,
    ending: &'static str,
    kind: &'static str,
    content: &'static str,
    path: LazyLock<String>,
}

pub(crate) static STYLE: Asset = Asset {
    name: "dashboard",
    ending: "css",
    kind: "text/css; charset=utf-8",
    content: include_str!("../assets/dashboard.css"),
    path: LazyLock::new(|| STYLE.hashed()),
};
pub(crate) static SCRIPT: Asset = Asset {
    name: "dashboard",
    ending: "js",
    kind: "text/javascript; charset=utf-8",
    content: include_str!("../assets/dashboard.js"),
    path: LazyLock::new(|| SCRIPT.hashed()),
};
pub(crate) static ICON: Asset = Asset {
    name: "icon",
    ending: "svg",
    kind: "image/svg+xml",
    content: include_str!("../assets/icon.svg"),
    path: LazyLock::new(|| ICON.hashed()),
};

impl Asset {
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn hashed(&self) -> String {
        let digest = digest(&SHA256, self.content.as_bytes());
        let hash: String = digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/{}-{hash}.{}", self.name, self.ending)
    }
}

/// Answers with a file. Its content never changes under its name.
pub(crate) async fn get(Path(name): Path<String>) -> Response {
    let found = [&STYLE, &SCRIPT, &ICON]
        .into_iter()
        .find(|asset| asset.path().strip_prefix("/assets/") == Some(&name));
    match found {
        Some(asset) => {
            let headers = [
                (header::CONTENT_TYPE, asset.kind),
                (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
            ];
            (headers, asset.content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
