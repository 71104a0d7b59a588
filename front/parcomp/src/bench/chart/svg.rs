//! Writing SVG: escaping, text widths, the style sheet of all charts.

use std::fmt::Write;

/// What a shape or text stands for; the style sheet gives each its colour in light and dark.
/// The colours are Okabe and Ito's, darkened or lightened for contrast: told apart by colour-blind
/// readers too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// zlib.
    Software,
    /// Lookaside.
    Device,
    /// Lookaside, the alternative in an A/B comparison.
    Other,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Software => "sw",
            Tone::Device => "dev",
            Tone::Other => "oth",
        }
    }
}

/// Where the text's `x` is.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

const STYLE: &str = "\
.la-chart{--bg:#fff;--ink:#1b1f24;--dim:#57606a;--grid:#e3e6ea;--axis:#8b949e;\
--sw:#b84a00;--dev:#0068a6;--oth:#00795a;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif}\
@media(prefers-color-scheme:dark){.la-chart{--bg:#14181d;--ink:#e8ebee;--dim:#a3acb6;\
--grid:#2b3138;--axis:#6b747e;--sw:#ff9e4a;--dev:#5ab4f0;--oth:#3dc99c}}\
.la-chart .bg{fill:var(--bg)}.la-chart text{fill:var(--ink);font-size:14px;stroke:none}\
.la-chart .title{font-size:19px;font-weight:700}.la-chart .sub,.la-chart .dim{fill:var(--dim)}\
.la-chart .small{font-size:12.5px}.la-chart .strong{font-weight:700}\
.la-chart .grid{stroke:var(--grid)}.la-chart .axis{stroke:var(--axis)}\
.la-chart .mark{stroke:var(--dim);stroke-dasharray:2 4}\
.la-chart .curve{fill:none;stroke-width:2.5;stroke-linejoin:round}\
.la-chart .curve.dash{stroke-dasharray:7 5}.la-chart .whisker{stroke-width:1.5}\
.la-chart .ink{stroke:var(--ink)}\
.la-chart .sw{stroke:var(--sw)}.la-chart .dev{stroke:var(--dev)}.la-chart .oth{stroke:var(--oth)}\
.la-chart .fill.sw{fill:var(--sw)}.la-chart .fill.dev{fill:var(--dev)}\
.la-chart .fill.oth{fill:var(--oth)}\
.la-chart .hollow{fill:var(--bg);stroke-width:2}\
.la-chart .light{fill-opacity:.28;stroke-width:1.5}\
.la-chart text.sw{fill:var(--sw);stroke:none}.la-chart text.dev{fill:var(--dev);stroke:none}\
.la-chart text.oth{fill:var(--oth);stroke:none}\
.la-chart text.halo{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}";

/// One picture being written.
pub(super) struct Svg {
    out: String,
}

impl Svg {
    /// Starts a picture of `width` x `height` units; `title` and `description` are for readers who
    /// hear it.
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Svg {
        let mut svg = Svg { out: String::new() };
        svg.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"la-chart\" role=\"img\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n\
             <rect class=\"bg\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n",
            escape(title),
            escape(description),
        ));
        svg
    }

    fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escape(text);
        self.element(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor} class=\"{class}\">{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), class: &str) {
        let w = w.max(1.0);
        self.element(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn circle(&mut self, (x, y): (f64, f64), r: f64, class: &str) {
        self.element(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn curve(&mut self, points: &[(f64, f64)], class: &str) {
        let list: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let list = list.join(" ");
        self.element(format_args!("<polyline points=\"{list}\" class=\"curve {class}\"/>"));
    }

    /// The title, over as many lines as it needs, and the line below it. Returns the next free y.
    pub(super) fn head(&mut self, width: f64, title: &str, subtitle: &str) -> f64 {
        let mut y = 30.0;
        for line in wrap(title, 19.0 * BOLD, width - 2.0 * MARGIN) {
            self.text(MARGIN, y, Anchor::Start, "title", &line);
            y += 25.0;
        }
        y -= 3.0;
        for line in wrap(subtitle, 14.0, width - 2.0 * MARGIN) {
            self.text(MARGIN, y, Anchor::Start, "sub", &line);
            y += 19.0;
        }
        y
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{element}");
    }

    pub(super) fn finish(mut self) -> String {
        self.raw("</svg>\n");
        self.out
    }
}

/// Space at the edges.
pub(super) const MARGIN: f64 = 20.0;
/// How much wider bold type is.
pub(super) const BOLD: f64 = 1.12;

/// The width of `text` in a sans-serif face of `size`, of a wide face (DejaVu Sans) because
/// charts are laid out without knowing the reader's fonts.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.33,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '-' | '/' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' => 0.97,
        'A'..='Z' => 0.70,
        _ => 0.63,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// `text` in lines of at most `width` at `size`.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in tie(text).split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 0.4 * size <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `text` with units tied to their numbers by no-break spaces, so that no line ends between them.
pub fn tie(text: &str) -> String {
    const UNITS: [&str; 7] = ["KB", "MB", "GB", "%", "s", "µs", "points"];
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        let after_digit = out.ends_with(|c: char| c.is_ascii_digit());
        match after_digit && UNITS.contains(&unit) {
            true => out.push('\u{a0}'),
            false if !out.is_empty() => out.push(' '),
            false => {}
        }
        out.push_str(word);
    }
    out
}

/// `text` for XML and HTML, in elements and in attributes. Control characters, which XML cannot
/// carry, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escape, text_width, tie, wrap};

    #[test]
    fn escapes_what_xml_forbids() {
        assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
    }

    #[test]
    fn units_stay_with_their_numbers() {
        assert_eq!(tie("in 1.7 s, 4 KB of it"), "in 1.7\u{a0}s, 4\u{a0}KB of it");
        assert_eq!(tie("its MB"), "its MB");
    }

    #[test]
    fn wraps_within_the_width_and_loses_no_word() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let lines = wrap(text, 14.0, 120.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|l| text_width(l, 14.0) <= 120.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }
}
