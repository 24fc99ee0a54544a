//! Delete of a whole collection, or of what a selector leaves of it.

use safepoint_machinery::status::Status;
use serde_json::{Value, json};

use super::Call;
use super::delete::{Deletion, delete_object};
use super::select::Selection;
use super::write::Intent;
use crate::admission::Operation;
use crate::fault;
use crate::http::{Content, Reply};

/// Deletes what is selected, one by one: a deletion that is refused stops the rest.
pub(crate) async fn delete_all(call: &Call, content: &Content) -> Result<Reply, Status> {
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(fault::not_allowed());
    }
    let deletion = Deletion::read(content, &call.query)?;
    let mut intent = Intent::of(call, Operation::Delete)?;
    intent.dry_run = deletion.dry_run;
    intent.options = deletion.to_options();
    let selection = Selection::of(call)?;
    let listing = call.api.0.store.list(&selection.scope, None, usize::MAX);
    let mut items: Vec<Value> = Vec::new();
    for object in listing.objects.iter().filter(|object| selection.matches(object)) {
        match delete_object(call, &object.key, &deletion, &intent).await {
            Ok((object, _)) => items.push(object),
            // Somebody else was faster: gone is what was wanted.
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(Reply::ok(json!({
        "kind": &*call.resource.list_kind,
        "apiVersion": call.resource.api_version(),
        "metadata": { "resourceVersion": listing.revision.to_string() },
        "items": items,
    })))
}
