//! The fleet at a glance.

use maud::{Markup, html};
use safepoint_api::StaticPod;

use super::static_pods::{bar, is_rolling, link};
use super::words::{count, encoded, moment, node_link, standing};
use crate::fleet::{Fleet, PAGE, Query, Standing};
use crate::known::Machine;
use crate::live::Piece;

/// All of it.
pub(crate) fn pieces(
    fleet: &Fleet,
    query: &Query,
    static_pods: Option<&[std::sync::Arc<StaticPod>]>,
) -> Vec<Piece> {
    let mut pieces = vec![
        Piece::new("news", news(fleet)),
        Piece::new("standings", standings(fleet, query)),
        Piece::new("rollouts", rollouts(static_pods)),
        Piece::new("filter", filter(query)),
    ];
    if let Some((groups, more)) = &fleet.groups {
        pieces.push(Piece::new("groups", group_table(groups, *more, query)));
    }
    pieces.push(nodes(fleet));
    pieces.push(Piece::new("pages", pages(fleet, query)));
    pieces
}

/// One sentence that is read out when it changes.
fn news(fleet: &Fleet) -> Markup {
    let trouble =
        [Standing::Orphaned, Standing::Offline, Standing::Freezing, Standing::Frozen, Standing::Held];
    let parts = trouble.iter().filter_map(|standing| {
        let number = fleet.counts.get(standing)?;
        Some(format!("{number} {}", standing.word()))
    });
    let parts: Vec<String> = parts.collect();
    let nodes = count(i64::try_from(fleet.nodes).unwrap_or(i64::MAX), "node");
    let held = match fleet.held_changes {
        0 => "nothing is held".to_owned(),
        number => format!("{} held on {} of them", count(number, "change"), fleet.nodes_holding),
    };
    html! {
        p id="news" role="status" {
            (nodes) @if !parts.is_empty() { ", " (parts.join(", ")) } "; " (held) "."
        }
    }
}

fn standings(fleet: &Fleet, query: &Query) -> Markup {
    let all = Query { standing: String::new(), held: String::new(), page: 0, ..query.clone() };
    let only = |standing: Standing| Query { standing: standing.key().to_owned(), ..all.clone() };
    let holding = Query { held: "yes".to_owned(), ..all.clone() };
    let is_all = query.standing.is_empty() && query.held.is_empty();
    html! {
        section id="standings" aria-label="Nodes by how they stand" {
            ul class="tiles" {
                li { a href=(address(&all)) aria-current=[is_all.then_some("true")] { b { (fleet.nodes) } " all" } }
                @for standing in Standing::ALL {
                    li {
                        a class=(standing.key()) href=(address(&only(standing))) title=(standing.meaning())
                            aria-current=[(query.standing == standing.key()).then_some("true")] {
                            b { (fleet.counts.get(&standing).copied().unwrap_or_default()) } " " (standing.word())
                        }
                    }
                }
                li {
                    a href=(address(&holding)) aria-current=[(!query.held.is_empty()).then_some("true")] {
                        b { (fleet.nodes_holding) } " with held changes"
                    }
                }
            }
        }
    }
}

fn rollouts(static_pods: Option<&[std::sync::Arc<StaticPod>]>) -> Markup {
    let rolling: Vec<_> =
        static_pods.iter().flat_map(|all| all.iter()).filter(|object| is_rolling(object)).collect();
    html! {
        section id="rollouts" aria-labelledby="rollouts-title" {
            h2 id="rollouts-title" { "Roll-outs in progress" }
            @if static_pods.is_none() {
                p class="note" { "You may not list StaticPods." }
            } @else if rolling.is_empty() {
                p class="note" { "None." }
            }
            ul class="rollouts" {
                @for object in rolling.iter().take(10) { li { (link(object)) " " (bar(object)) } }
            }
            @if rolling.len() > 10 { p { a href="/static-pods" { "All " (rolling.len()) } } }
        }
    }
}

fn filter(query: &Query) -> Markup {
    html! {
        form id="filter" role="search" method="get" action="/" {
            @if !query.standing.is_empty() { input type="hidden" name="standing" value=(query.standing); }
            @if !query.held.is_empty() { input type="hidden" name="held" value=(query.held); }
            label for="q" { "Name, or label as key=value" }
            input id="q" name="q" type="search" value=(query.q);
            label for="group" { "Group by label" }
            input id="group" name="group" value=(query.group) placeholder="topology.kubernetes.io/zone";
            button type="submit" { "Filter" }
        }
    }
}

fn group_table(groups: &[(String, crate::fleet::Group)], more: usize, query: &Query) -> Markup {
    html! {
        section id="groups" aria-labelledby="groups-title" {
            h2 id="groups-title" { "By " code { (query.group) } }
            div class="scroll" tabindex="0" role="group" aria-labelledby="groups-title" {
                table {
                    thead { tr {
                        th scope="col" { "Value" } th scope="col" { "Nodes" } th scope="col" { "Held changes" }
                        th scope="col" { "Stand" }
                    } }
                    tbody {
                        @for (value, group) in groups {
                            tr {
                                th scope="row" {
                                    @if value.is_empty() { "(none)" } @else {
                                        a href=(address(&Query { q: format!("{}={value}", query.group.trim()), group: String::new(),
                                            page: 0, ..query.clone() })) { (value) }
                                    }
                                }
                                td { (group.nodes) }
                                td { (group.held_changes) }
                                td {
                                    @for (stand, number) in &group.counts { (standing(*stand)) " " (number) " " }
                                }
                            }
                        }
                    }
                }
            }
            @if more > 0 { p class="note" { "and " (more) " more values: this label tells nodes apart rather than together." } }
        }
    }
}

fn nodes(fleet: &Fleet) -> Piece {
    let rows = fleet.rows.iter().map(|(name, standing, machine)| {
        let id = format!("node-{name}");
        let row = row(&id, name, *standing, machine);
        (id, row)
    });
    let empty = fleet.rows.is_empty();
    Piece::of_parts("nodes", rows.collect(), |rows| {
        html! {
            section id="nodes" aria-labelledby="nodes-title" {
                h2 id="nodes-title" { "Nodes" }
                @if empty { p { "No node is like that." } }
                div class="scroll" tabindex="0" role="group" aria-labelledby="nodes-title" {
                    table {
                        thead { tr {
                            th scope="col" { "Node" } th scope="col" { "Stands" } th scope="col" { "Held" }
                            th scope="col" { "Holder" } th scope="col" { "Reason" } th scope="col" { "Since" }
                        } }
                        tbody { (rows) }
                    }
                }
            }
        }
    })
}

fn row(id: &str, name: &str, stands: Standing, machine: &Machine) -> Markup {
    let gate = machine.gate.as_ref();
    let last = gate.and_then(|gate| gate.state).filter(|_| stands == Standing::Offline);
    let since = match stands {
        Standing::Offline => machine.node.as_ref().and_then(|node| node.since.as_ref()),
        _ => gate.and_then(|gate| gate.since.as_ref()),
    };
    html! {
        tr id=(id) {
            th scope="row" { (node_link(name)) }
            td {
                (standing(stands))
                @if let Some(last) = last { span class="note" { " last " (format!("{last:?}").to_lowercase()) } }
            }
            td { @if let Some(gate) = gate { (gate.held_count) } @else { "—" } }
            td { (gate.and_then(|gate| gate.holder.as_deref()).unwrap_or_default()) }
            td { (gate.and_then(|gate| gate.reason.as_deref()).unwrap_or_default()) }
            td { (moment(since)) }
        }
    }
}

fn pages(fleet: &Fleet, query: &Query) -> Markup {
    let to = |page: usize| address(&Query { page, ..query.clone() });
    let first = (fleet.page - 1) * PAGE;
    html! {
        nav id="pages" aria-label="Pages of nodes" {
            p {
                @if fleet.found > 0 { (first + 1) "–" (first + fleet.rows.len()) " of " (fleet.found) }
                @if fleet.page > 1 { " " a rel="prev" href=(to(fleet.page - 1)) { "Previous" } }
                @if fleet.page < fleet.pages { " " a rel="next" href=(to(fleet.page + 1)) { "Next" } }
            }
        }
    }
}

/// Where a query is answered.
pub(crate) fn address(query: &Query) -> String {
    let Query { q, standing, held, group, page } = query;
    let page = if *page > 1 { page.to_string() } else { String::new() };
    let pairs = [("q", q), ("standing", standing), ("held", held), ("group", group), ("page", &page)];
    let set = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    let text: Vec<String> = set.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if text.is_empty() { "/".to_owned() } else { format!("/?{}", text.join("&")) }
}
