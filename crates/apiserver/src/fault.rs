//! What can go wrong with a request, in the words of Kubernetes.

use safepoint_machinery::status::{Cause, Details, FieldErrors, FieldPath, Grouped, Reason, Status};
use safepoint_store::WriteError;

use crate::resource::Resource;

/// What is wrong with an object, collected.
pub(crate) type Problems = FieldErrors;

/// A path that is written out: `metadata.name`.
pub(crate) fn at(path: &str) -> FieldPath {
    let mut parts = path.split('.');
    let first = FieldPath::new(parts.next().unwrap_or_default());
    parts.fold(first, |path, part| path.child(part))
}

/// The object is not there.
pub(crate) fn not_found(resource: &Resource, name: &str) -> Status {
    Status::not_found(plural(resource), name)
}

/// The object is there already.
pub(crate) fn already_exists(resource: &Resource, name: &str) -> Status {
    Status::already_exists(plural(resource), name)
}

/// Somebody else has changed the object.
pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Status {
    Status::conflict(plural(resource), name, why)
}

/// The object was changed since the client read it.
pub(crate) fn modified(resource: &Resource, name: &str) -> Status {
    Status::modified(plural(resource), name)
}

/// The object breaks rules of its kind.
pub(crate) fn invalid(resource: &Resource, name: &str, problems: &Problems) -> Status {
    Status::invalid(Grouped::new(&resource.group, &resource.kind), name, problems)
}

/// The asker may not.
pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Status {
    Status::forbidden(plural(resource), name, why)
}

/// The request makes no sense.
pub(crate) fn bad_request(why: impl Into<String>) -> Status {
    Status::bad_request(why)
}

/// The body is in a form that is not understood here.
pub(crate) fn unsupported_media_type(why: impl Into<String>) -> Status {
    Status::new(415, Reason::UnsupportedMediaType, why)
}

/// The body is larger than anything that is taken.
pub(crate) fn too_large(limit: usize) -> Status {
    Status::too_large(&format!("limit is {limit}"))
}

/// The verb is not for this address.
pub(crate) fn not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, Reason::MethodNotAllowed, message).about(Details::default())
}

/// The server cannot go on with this; the reason is for the operator.
pub(crate) fn internal(why: impl AsRef<str>) -> Status {
    Status::internal(why.as_ref())
}

/// The revision is too old to go on from.
pub(crate) fn expired(why: impl Into<String>) -> Status {
    Status::expired(why)
}

/// What the store answered to a write that was not meant to depend on a revision.
pub(crate) fn from_write(resource: &Resource, name: &str, error: &WriteError) -> Status {
    match error {
        WriteError::Exists => already_exists(resource, name),
        WriteError::Conflict { .. } => modified(resource, name),
        WriteError::NotFound => not_found(resource, name),
        WriteError::Failed(_) | WriteError::Closed => {
            internal(format!("the store could not keep the change: {error}"))
        }
    }
}

/// A revision that has not been reached: the client has seen another server, or the store was put back.
pub(crate) fn too_large_revision(wanted: u64, current: u64) -> Status {
    let message = format!("Too large resource version: {wanted}, current: {current}");
    let mut status = Status::timeout(&message, 1);
    add_cause(&mut status, "ResourceVersionTooLarge", "Too large resource version", "");
    status
}

/// Names one more thing that is wrong.
pub(crate) fn add_cause(status: &mut Status, reason: &str, message: &str, field: &str) {
    let cause = Cause { reason: reason.to_owned(), message: message.to_owned(), field: field.to_owned() };
    status.details.get_or_insert_default().causes.push(cause);
}

/// The same problems, as one refusal of some options.
pub(crate) fn options(kind: &str, problems: &Problems) -> Status {
    Status::invalid(Grouped::new("meta.k8s.io", kind), "", problems)
}

fn plural(resource: &Resource) -> Grouped<'_> {
    Grouped::new(&resource.group, &resource.plural)
}
