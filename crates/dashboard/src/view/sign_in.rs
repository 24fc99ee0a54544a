//! Signing in.

use maud::{Markup, html};

/// The form. `hint` says where a token comes from.
pub(crate) fn form(next: &str, wrong: Option<&str>, hint: &str) -> Markup {
    html! {
        @if let Some(wrong) = wrong { p id="wrong" class="said bad" role="alert" { (wrong) } }
        form id="sign-in" class="ask" method="post" action="/sign-in" {
            input type="hidden" name="next" value=(next);
            label for="token" { "Token of the cluster" }
            input id="token" name="token" type="password" autocomplete="off" required autofocus
                aria-describedby="token-hint" aria-invalid=[wrong.map(|_| "true")];
            p id="token-hint" class="note" { (hint) " You can do here what the cluster lets this token do, and nothing else." }
            button type="submit" { "Sign in" }
        }
    }
}
