//! Text for people: aligned columns and wrapped paragraphs, within 80 columns.

/// The width that output keeps to.
pub const WIDTH: usize = 80;

/// Rows of cells, each column as wide as its widest cell; numbers to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|i| width(i).unwrap_or(0)).collect();
    let numeric = |i: usize| {
        let mut cells = rows.iter().skip(1).filter_map(|r| r.get(i));
        cells.all(|c| c.starts_with(|c: char| c.is_ascii_digit()))
    };
    let right: Vec<bool> = (0..count).map(numeric).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let w = widths[i];
            line += &if right[i] { format!("  {cell:>w$}") } else { format!("  {cell:<w$}") };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// `text` broken at spaces behind a `label`, further lines indented as far.
pub fn paragraph(label: &str, indent: usize, text: &str) -> String {
    let mut out = String::new();
    let mut line = format!("{label:<indent$}");
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() > WIDTH && line.len() > indent {
            out += line.trim_end();
            out.push('\n');
            line = " ".repeat(indent);
        }
        line += word;
        line.push(' ');
    }
    out += line.trim_end();
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_to_the_right() {
        let rows: Vec<Vec<String>> = [["op", "n"], ["compress", "7"], ["copy", "1234"]]
            .map(|r| r.map(str::to_owned).to_vec())
            .to_vec();
        assert_eq!(columns(&rows), "  op           n\n  compress     7\n  copy      1234\n");
    }

    #[test]
    fn long_text_is_wrapped() {
        let text = paragraph("label", 8, &"word ".repeat(40));
        assert!(text.lines().all(|l| l.len() <= WIDTH), "{text}");
        assert!(
            text.starts_with("label   word")
                && text.lines().nth(1).unwrap().starts_with("        word")
        );
        assert_eq!(text.matches("word").count(), 40);
        assert_eq!(paragraph("a", 2, ""), "a\n");
    }
}
