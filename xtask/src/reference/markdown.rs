//! Text that ends up on a page.

/// Prose: what a browser would take for a tag is shown as it is written. Code in backquotes stays as it is.
pub(super) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts: Vec<String> = parts
        .map(|(number, part)| match number % 2 {
            0 => part.replace('<', "&lt;").replace('>', "&gt;"),
            _ => part.to_owned(),
        })
        .collect();
    parts.join("`")
}

/// Code within a line.
pub(super) fn code(text: &str) -> String {
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// A block that is shown letter by letter.
pub(super) fn block(kind: &str, text: &str) -> String {
    format!("```{kind}\n{}\n```\n", text.trim_end())
}

/// A table, without the columns in which nothing stands.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let is_used = |column: usize| rows.iter().any(|row| !row[column].is_empty());
    let columns: Vec<usize> = (0..N).filter(|column| is_used(*column)).collect();
    let line = |cells: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = columns.iter().map(|column| cell(&cells(*column))).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&|column| head[column].to_owned());
    text.push_str(&format!("|{}\n", "---|".repeat(columns.len())));
    for row in rows {
        text.push_str(&line(&|column| row[column].clone()));
    }
    text
}

/// In a table a line is a row, and a bar is an edge.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A text with its words, whose lines were broken for another width.
pub(super) fn paragraphs(text: &str) -> String {
    let whole = text.trim().split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    whole.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_tag_is_shown_and_code_stays() {
        assert_eq!(prose("<namespace> and `<name>`"), "&lt;namespace&gt; and `<name>`");
    }

    #[test]
    fn a_table_has_no_empty_column_and_no_edge_too_many() {
        let rows = [["a|b".to_owned(), String::new()], ["c\n d".to_owned(), String::new()]];
        assert_eq!(table(["one", "two"], &rows), "| one |\n|---|\n| a\\|b |\n| c d |\n");
    }
}
