//! Schemas in words: what a field is, what it may be, and what it is if nobody says.

use serde_json::Value;

use super::markdown::{code, prose};

/// What a value is. Types with a name are shown as `named` shows them.
pub(super) fn kind(schema: &Value, named: &dyn Fn(&str) -> String) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return named(reference.rsplit('/').next().unwrap_or(reference));
    }
    // Something or nothing: what may be absent is told by what is required.
    if let Some(choices) = schema["anyOf"].as_array() {
        let kinds = choices.iter().filter(|choice| choice["type"] != "null").map(|it| kind(it, named));
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".into();
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().filter_map(Value::as_str).map(code).collect();
        return values.join(", ");
    }
    let name = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        name => name.as_str(),
    };
    match (name, schema["format"].as_str()) {
        (Some("array"), _) => format!("list of {}", kind(&schema["items"], named)),
        (Some("object"), _) if is_selector(schema) => "label selector".into(),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("map to {}", kind(&schema["additionalProperties"], named))
        }
        (Some("string"), Some("date-time")) => "time".into(),
        (Some(name), _) => name.to_owned(),
        (None, _) => "anything".into(),
    }
}

/// What a value has to keep to.
pub(super) fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    let number =
        |key: &str| schema[key].as_i64().or_else(|| schema[key].as_f64().map(|number| number as i64));
    let mut between = |least: &str, most: &str, what: &str| match (number(least), number(most)) {
        (Some(least), Some(most)) => rules.push(format!("{least} to {most}{what}")),
        (Some(least), None) => rules.push(format!("at least {least}{what}")),
        (None, Some(most)) => rules.push(format!("at most {most}{what}")),
        (None, None) => {}
    };
    between("minimum", "maximum", "");
    between("minLength", "maxLength", " characters");
    between("minItems", "maxItems", " items");
    between("minProperties", "maxProperties", " entries");
    if let Some(pattern) = schema["pattern"].as_str() {
        rules.push(code(pattern));
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        rules.push(match (rule["message"].as_str(), rule["rule"].as_str()) {
            (Some(message), _) => prose(message),
            (None, expression) => code(expression.unwrap_or_default()),
        });
    }
    if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
        let keys: Vec<String> = keys.iter().filter_map(Value::as_str).map(code).collect();
        rules.push(format!("no two with the same {}", keys.join(" and ")));
    }
    rules
}

/// What it is if nobody says, as far as that says anything.
pub(super) fn default(schema: &Value) -> String {
    match &schema["default"] {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => String::new(),
        Value::Array(items) if items.is_empty() => String::new(),
        value => code(&value.to_string()),
    }
}

/// What is said of it.
pub(super) fn about(schema: &Value) -> String {
    prose(schema["description"].as_str().unwrap_or_default())
}

/// Kubernetes' own selector, which everybody knows.
pub(super) fn is_selector(schema: &Value) -> bool {
    let fields = schema["properties"].as_object();
    fields.is_some_and(|fields| fields.keys().eq(["matchExpressions", "matchLabels"]))
}

/// Whether the fields inside are Kubernetes' own, as of a condition.
pub(super) fn is_condition(schema: &Value) -> bool {
    let fields = schema["properties"].as_object();
    fields.is_some_and(|fields| {
        ["lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"]
            .iter()
            .eq(fields.keys())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_told_in_words() {
        let named = |name: &str| format!("[{name}]");
        let kind = |schema: Value| kind(&schema, &named);
        assert_eq!(kind(json!({"type": ["string", "null"]})), "string");
        assert_eq!(kind(json!({"anyOf": [{"$ref": "#/x/Hold"}, {"type": "null"}]})), "[Hold]");
        assert_eq!(kind(json!({"type": "array", "items": {"$ref": "#/x/Hold"}})), "list of [Hold]");
        assert_eq!(kind(json!({"type": "string", "enum": ["A", "B"]})), "`A`, `B`");
        let schema = json!({"minLength": 1, "maxLength": 9, "x-kubernetes-validations": [{"message": "no", "rule": "x"}]});
        assert_eq!(rules(&schema), ["1 to 9 characters", "no"]);
        assert_eq!(default(&json!({"default": 3})), "`3`");
    }
}
