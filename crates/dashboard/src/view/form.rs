//! Asking before something is done: what will happen, and why it shall.
//!
//! An act is confirmed on a page of its own: it works with a keyboard, with a screen reader, on a phone, and without a script.

use maud::{Markup, html};
use safepoint_api::WorkloadRef;
use safepoint_orders::static_pods::Revision;

use super::words::workload;

/// What every form has.
pub(crate) struct Form<'a> {
    pub(crate) token: &'a str,
    /// Where it is sent.
    pub(crate) action: &'a str,
    /// Where one goes who thinks better of it.
    pub(crate) back: &'a str,
    pub(crate) button: &'a str,
    /// What was wrong with what was sent, and the reason that was given.
    pub(crate) wrong: Option<&'a str>,
    pub(crate) reason: &'a str,
    /// How long, and whether a hold is set aside, as it was sent.
    pub(crate) length: &'a str,
    pub(crate) overrides: bool,
}

impl Form<'_> {
    fn around(&self, what: &Markup, fields: &Markup) -> Markup {
        html! {
            @if let Some(wrong) = self.wrong { p id="wrong" class="said bad" role="alert" { (wrong) } }
            div id="what" { (what) }
            form id="ask" class="ask" method="post" action=(self.action) {
                input type="hidden" name="form" value=(self.token);
                label for="reason" { "Reason" }
                textarea id="reason" name="reason" rows="2" maxlength="1000" required autofocus
                    aria-describedby="what reason-hint" { (self.reason) }
                p id="reason-hint" class="note" { "For whoever asks later why this was done. It is noted with your name." }
                (fields)
                p class="acts" {
                    button type="submit" { (self.button) }
                    " " a class="button quiet" href=(self.back) { "Do nothing" }
                }
            }
        }
    }
}

pub(crate) fn freeze(form: &Form<'_>, node: &str) -> Markup {
    let what = html! {
        p {
            "Nothing on " b { (node) } " will change any more. At once nothing new is let through; what is under way may "
            "finish, and the node is frozen once everything has settled. Pods that die are restarted unchanged."
        }
    };
    let fields = html! {
        label for="for" { "For how long, such as 30m or 1h30m; empty: until somebody thaws it" }
        input id="for" name="for" value=(form.length) aria-describedby="for-hint";
        p id="for-hint" class="note" {
            "When the time is over the node thaws, whatever it does then: it cannot be given safety signals that would "
            "object yet. Leave this empty if somebody has to look first."
        }
    };
    form.around(&what, &fields)
}

pub(crate) fn thaw(form: &Form<'_>, node: &str, wanted: Option<&str>, local: &[String]) -> Markup {
    let what = html! {
        @if let Some(wanted) = wanted {
            p { "The cluster's freeze of " b { (node) } " ends: " (wanted) "." }
        } @else {
            p { "The cluster has no freeze of " b { (node) } " to take back; the node is asked to end its own." }
        }
        @if !local.is_empty() {
            p { "On the node itself it is also frozen by " (local.join(", ")) ". That stays, unless you set it aside." }
        }
        p { "What was missed is then applied, the newest only." }
    };
    form.around(&what, &override_fields(form))
}

pub(crate) fn release(form: &Form<'_>, node: &str, of: &WorkloadRef, revision: Option<&str>) -> Markup {
    let what = html! {
        p { "The pending upgrade of " b { (workload(of)) } " on " b { (node) } " is let through as one: the old one stops, the new one starts." }
        @if let Some(revision) = revision {
            p { "Only revision " code { (revision) } "; a still newer one stays held." }
        } @else { p { "The revision that is pending when the node hears of it." } }
    };
    let fields = html! {
        input type="hidden" name="kind" value=(of.kind);
        input type="hidden" name="namespace" value=(of.namespace);
        input type="hidden" name="name" value=(of.name);
        @if let Some(ordinal) = of.ordinal { input type="hidden" name="ordinal" value=(ordinal); }
        @if let Some(revision) = revision { input type="hidden" name="revision" value=(revision); }
        (override_fields(form))
    };
    form.around(&what, &fields)
}

/// Setting aside what somebody on the node holds.
fn override_fields(form: &Form<'_>) -> Markup {
    let length = if form.length.is_empty() { "10m" } else { form.length };
    html! {
        fieldset {
            legend { "If somebody on the node holds it" }
            p class="check" {
                input id="override" name="override" type="checkbox" value="yes" checked[form.overrides];
                label for="override" { "Set their hold aside (override)" }
            }
            label for="for" { "For how long; after that it is in force again" }
            input id="for" name="for" value=(length);
        }
    }
}

pub(crate) fn pause(form: &Form<'_>, name: &str) -> Markup {
    form.around(&html! { p { "No further upgrade of " b { (name) } " is started. Those that are under way are finished." } }, &html! {})
}

pub(crate) fn resume(form: &Form<'_>, name: &str) -> Markup {
    form.around(&html! { p { "Upgrades of " b { (name) } " go on." } }, &html! {})
}

pub(crate) fn roll_back(form: &Form<'_>, name: &str, revisions: &[Revision]) -> Markup {
    let newest = revisions.iter().rev().find(|revision| !revision.current).map(|revision| &revision.revision);
    let what = html! {
        p { b { (name) } " becomes what it was in an earlier revision, on all nodes, with the strategy that it has now." }
        @if newest.is_none() { p { "The cluster keeps no earlier revision of it." } }
    };
    let fields = html! {
        label for="revision" { "Revision" }
        select id="revision" name="revision" required {
            @for it in revisions.iter().rev().filter(|it| !it.current) {
                option value=(it.revision) selected[Some(&it.revision) == newest] { (it.revision) ", wanted since " (it.wanted_at) }
            }
        }
    };
    form.around(&what, &fields)
}
