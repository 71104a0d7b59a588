//! Text for people: aligned columns, tables of wrapped cells, and wrapped paragraphs.

/// The width that paragraphs keep to.
pub const WIDTH: usize = 80;

/// The width that tables of wrapped cells keep to.
pub const TABLE_WIDTH: usize = 100;

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

/// Rows of cells, two spaces apart, the lines of long cells broken at spaces so that the whole keeps to
/// [`TABLE_WIDTH`], and no column is wider than `most` says. Columns that are narrower than their share
/// keep their width; the others share what is left.
pub fn wrapped<const N: usize>(rows: &[[String; N]], most: [usize; N]) -> String {
    let widest = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let natural = |i: usize| widest(i).min(most[i]);
    let mut widths: [usize; N] = std::array::from_fn(natural);
    let mut fixed = [false; N];
    let mut left = TABLE_WIDTH - 2 * N;
    loop {
        let open = fixed.iter().filter(|fixed| !**fixed).count();
        let Some(share) = left.checked_div(open) else { break };
        let narrow = (0..N).find(|&i| !fixed[i] && widths[i] <= share);
        let Some(i) = narrow else {
            for i in (0..N).filter(|&i| !fixed[i]) {
                widths[i] = share;
            }
            break;
        };
        fixed[i] = true;
        left -= widths[i];
    }
    let mut out = String::new();
    for row in rows {
        let cells: [Vec<String>; N] = std::array::from_fn(|i| broken(&row[i], widths[i]));
        for n in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for (cell, w) in cells.iter().zip(widths) {
                let text = cell.get(n).map_or("", String::as_str);
                line += &format!("  {text:<w$}");
            }
            out += line.trim_end();
            out.push('\n');
        }
    }
    out
}

/// The lines of `text`, broken at spaces, a word longer than `width` in the middle.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let line = lines.last_mut().expect("one line at least");
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + word.len() <= width || (used == 0 && word.len() > width) {
                let rest = word.split_off(word.len().min(width));
                line.extend(std::iter::repeat_n(' ', gap).chain(word));
                word = rest;
            } else {
                lines.push(String::new());
            }
        }
    }
    lines
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
    fn cells_are_wrapped_within_the_width() {
        let row = |a: &str, b: &str, c: &str| [a, b, c].map(str::to_owned);
        let rows = [
            row("op", "served by", "what"),
            row("x", &"kernel ".repeat(20), &"algorithm, ".repeat(30)),
            row("longer", "", &"w".repeat(150)),
        ];
        let text = wrapped(&rows, [100, 30, 100]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|l| l.len() <= TABLE_WIDTH && !l.ends_with(' ')), "{text}");
        assert_eq!(text.matches("kernel").count(), 20);
        assert_eq!(text.matches("algorithm,").count(), 30);
        assert_eq!(text.matches('w').count(), 150 + 1);
        // Columns begin where the head's do, and at least two spaces are before each.
        let second = lines[0].find("served").unwrap();
        let third = lines[0].find("what").unwrap();
        for line in &lines {
            assert!(line.get(second - 2..second).is_none_or(|gap| gap == "  "), "{text}");
            assert!(line.get(third - 2..third).is_none_or(|gap| gap == "  "), "{text}");
        }
        assert_eq!(wrapped(&[row("a", "b", "c")], [9; 3]), "  a  b  c\n");
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
