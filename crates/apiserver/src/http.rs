//! What a request says: where it points, what it asks for, in which form it wants the answer.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod path;
mod protobuf;
pub(crate) mod query;
pub(crate) mod reply;

pub(crate) use accept::{Accept, Form};
pub(crate) use body::Content;
pub(crate) use path::Target;
pub(crate) use query::Query;
pub(crate) use reply::Reply;
