//! The description of the native API, made from the table that its router is made of.

mod schemas;

#[cfg(test)]
mod tests;

use axum::Json;
use http::Method;
use safepoint_api::local::Failure;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::node::Node;
use crate::routes::{Answers, Route, table};

/// `GET /openapi.json`. Made anew each time: it is asked for seldom and is as large as everything else here.
pub(crate) async fn document<N: Node>() -> Json<Value> {
    Json(openapi::<N>())
}

/// The description, as OpenAPI 3.1.
#[must_use]
pub fn openapi<N: Node>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let failure = generator.subschema_for::<Failure>();
    let mut paths = Map::new();
    for route in table::<N>() {
        let described = operation(&route, &mut generator, &failure);
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_ascii_lowercase()] = described;
    }
    let mut paths = Value::Object(paths);
    let schemas = schemas::named(generator.take_definitions(true), &mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Safepoint node API",
            "version": "v1",
            "description": "Spoken over a unix socket. Who calls is known from the socket: reading is for whoever can open \
                            it, changing for root, the agent's user and members of the configured group.",
        },
        "servers": [{ "url": "http://localhost", "description": "The unix socket of the agent" }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn operation<N>(route: &Route<N>, generator: &mut SchemaGenerator, failure: &Schema) -> Value {
    let content = |media: &str, schema: Value| {
        let mut content = Map::new();
        content.insert(media.to_owned(), json!({ "schema": schema }));
        Value::Object(content)
    };
    let mut success = json!({ "description": "Done" });
    match route.answers {
        Answers::Json(describe) => {
            success["content"] = content("application/json", describe(generator).to_value());
        }
        Answers::Events(describe) => {
            success["description"] =
                "Server-sent events, named after their kind; `lagged` tells of missed ones".into();
            success["content"] = content("text/event-stream", describe(generator).to_value());
        }
        Answers::Text => success["content"] = content("text/plain", json!({ "type": "string" })),
        Answers::OpenApi => success["content"] = content("application/json", json!({ "type": "object" })),
        Answers::Nothing => {}
    }
    let mut responses = Map::new();
    responses.insert(route.code.to_string(), success);
    for code in route.refuses {
        // The probes say what is wrong in plain text.
        let content = match route.answers {
            Answers::Text => content("text/plain", json!({ "type": "string" })),
            _ => content("application/json", failure.clone().to_value()),
        };
        let meaning = match route.answers {
            Answers::Text => "It is not; the lines say what is wrong",
            _ => meaning(*code),
        };
        responses.insert(code.to_string(), json!({ "description": meaning, "content": content }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": responses,
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(describe) = route.body {
        operation["requestBody"] = json!({
            "required": route.method == Method::POST,
            "content": content("application/json", describe(generator).to_value()),
        });
    }
    operation
}

fn parameters<N>(route: &Route<N>) -> Vec<Value> {
    let named = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let named = named
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let asked = route.query.iter().map(|(name, meaning)| {
        let schema = json!({ "type": "integer", "minimum": 0 });
        json!({ "name": name, "in": "query", "description": meaning, "schema": schema })
    });
    named.chain(asked).collect()
}

const fn meaning(code: u16) -> &'static str {
    match code {
        400 => "The request cannot be read, or says too much or too little",
        403 => "The caller may not change anything here",
        404 => "There is no such thing on this node",
        409 => "The gate says no; the reason and what to do are in the body",
        413 => "The body is too large",
        500 => "It could not be done; the reason is in the body",
        501 => "This agent looks after no static pods",
        503 => "The gate cannot be asked now; nothing was changed",
        _ => "No",
    }
}
