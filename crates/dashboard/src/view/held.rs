//! Workloads of which something is held, anywhere in the fleet.

use maud::html;
use safepoint_api::WorkloadRef;

use super::words::workload_link;
use crate::fleet::HeldWorkload;
use crate::live::Piece;

/// So many are shown.
const MOST: usize = 200;

pub(crate) fn pieces(held: &[(WorkloadRef, HeldWorkload)]) -> Vec<Piece> {
    let rows = held.iter().take(MOST).enumerate().map(|(number, (workload, held))| {
        let id = format!("workload-{number}");
        let row = html! {
            tr id=(id) { th scope="row" { (workload_link(workload)) } td { (held.nodes) } td { (held.changes) } }
        };
        (id, row)
    });
    let piece = Piece::of_parts("workloads", rows.collect(), |rows| {
        html! {
            section id="workloads" aria-labelledby="workloads-title" {
                h2 id="workloads-title" { "Workloads" }
                @if held.is_empty() { p { "Nothing is held." } }
                div class="scroll" tabindex="0" role="group" aria-labelledby="workloads-title" {
                    table {
                        thead { tr { th scope="col" { "Workload" } th scope="col" { "Nodes" } th scope="col" { "Held changes" } } }
                        tbody { (rows) }
                    }
                }
                @if held.len() > MOST { p class="note" { "and " (held.len() - MOST) " more" } }
            }
        }
    });
    vec![piece]
}
