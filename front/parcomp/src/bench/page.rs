//! One HTML page with every figure: nothing to fetch, readable in light and dark.

use std::fmt::Write;

use super::{
    chart::{number, tie},
    figures::{Answer, Drawing, Figure},
    machine::Machine,
    setting::{Setting, Who, size_text},
};

/// What the page says about the run.
pub struct About<'a> {
    pub machine: &'a Machine,
    /// The command that made it.
    pub command: &'a str,
    /// One sentence for each corpus.
    pub corpora: Vec<String>,
    /// A warning in front, such as that the run was a quick one.
    pub warning: Option<String>,
    /// About how many bytes each point compresses.
    pub size: usize,
    pub rounds: usize,
    /// Seconds that the measurements took.
    pub seconds: f64,
}

/// A figure with its answers.
pub struct Drawn<'a> {
    pub figure: &'a Figure,
    pub answers: Vec<Answer<'a>>,
    pub drawing: Drawing,
}

/// `text` for HTML, with units kept beside their numbers.
fn escape(text: &str) -> String {
    super::chart::escape(&tie(text))
}

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#f5f6f8;--card:#fff;--ink:#1b1f24;--dim:#57606a;--line:#dde1e6;\
--link:#0068a6;--warn:#b84a00}\
@media(prefers-color-scheme:dark){:root{--bg:#0d1014;--card:#14181d;--ink:#e8ebee;--dim:#a3acb6;\
--line:#2b3138;--link:#5ab4f0;--warn:#ff9e4a}}\
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,\
'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif}\
main{max-width:860px;margin:0 auto;padding:32px 20px 64px}\
h1{font-size:28px;line-height:1.2;margin:0 0 12px}h2{font-size:19px;margin:0 0 12px}\
section{background:var(--card);border:1px solid var(--line);border-radius:8px;\
padding:22px 26px;margin:22px 0}\
figure{margin:0 -16px}svg{width:100%;height:auto;display:block}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:6px 18px;margin:16px 0 0}\
dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}\
code{font:13.5px/1.45 ui-monospace,'Liberation Mono','DejaVu Sans Mono',monospace}\
a{color:var(--link)}ol{padding-left:1.4em;margin:0}li{margin:6px 0}\
.dim{color:var(--dim)}.warn{color:var(--warn);font-weight:600}\
details{margin-top:14px}pre{white-space:pre-wrap;\
font:13px/1.5 ui-monospace,'Liberation Mono','DejaVu Sans Mono',monospace;margin:12px 0 0}\
summary{cursor:pointer;color:var(--dim)}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px;margin-top:8px}\
th,td{padding:3px 12px 3px 0;text-align:right;border-bottom:1px solid var(--line)}\
th{color:var(--dim);font-weight:600}th:first-child,td:first-child{text-align:left}th,td{white-space:nowrap}\
@media(max-width:560px){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}\
section{padding:16px 12px}}";

/// The page.
pub fn html(about: &About<'_>, drawn: &[Drawn<'_>]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>Parallel compression on this machine</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n"
    );
    out.push_str(&head(about));
    out.push_str("<section>\n<h2>What was found</h2>\n<ol>\n");
    for Drawn { figure, drawing, .. } in drawn {
        line(
            &mut out,
            format_args!(
                "<li><a href=\"#{}\">{}</a>: {}.</li>",
                escape(&figure.id),
                escape(&short(&figure.heading)),
                escape(&drawing.headline),
            ),
        );
    }
    out.push_str("</ol>\n</section>\n");
    for one in drawn {
        out.push_str(&section(about, one));
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// "Figure 3" of "Figure 3: ...", but "Copy against no copy" of "Future work: copy ...".
fn short(heading: &str) -> String {
    match heading.split_once(": ") {
        Some(("Future work", what)) => {
            let mut rest = what.chars();
            rest.next().into_iter().flat_map(char::to_uppercase).chain(rest).collect()
        }
        Some((figure, _)) => figure.to_owned(),
        None => heading.to_owned(),
    }
}

fn head(about: &About<'_>) -> String {
    let machine = about.machine;
    let mut out = String::from(
        "<h1>Parallel compression on this machine</h1>\n\
         <p>The figures of <cite>Programming Intel QuickAssist Technology Hardware Accelerators \
         for Optimal Performance</cite> (2015), measured again: stock zlib against the Lookaside \
         device. In the paper the device is a card with engines of its own. Here it is the CPU: \
         its engines are threads on the same cores, and CPU time includes the compression \
         itself.</p>\n",
    );
    if let Some(warning) = &about.warning {
        line(&mut out, format_args!("<p class=\"warn\">{}</p>", escape(warning)));
    }
    out.push_str("<section>\n<h2>How it was measured</h2>\n<dl>\n");
    let load = machine.load.as_ref().map(|l| format!("; load average {l} at the start"));
    let entry = |out: &mut String, name: &str, text: &str| {
        line(out, format_args!("<dt>{name}</dt><dd>{text}</dd>"));
    };
    entry(
        &mut out,
        "Machine",
        &escape(&format!(
            "{}, {} cores, {}{}",
            machine.cpu,
            machine.cores,
            machine.system,
            load.unwrap_or_default()
        )),
    );
    let took = format!("{}; the measurements took {:.0} s", machine.date, about.seconds);
    entry(&mut out, "Date", &escape(&took));
    entry(&mut out, "Command", &format!("<code>{}</code>", escape(about.command)));
    for corpus in &about.corpora {
        entry(&mut out, "Data", &escape(corpus));
    }
    let rounds = match about.rounds {
        1 => "one round".to_owned(),
        n => format!("{n} rounds, each in another order; medians, with whiskers from min to max"),
    };
    entry(
        &mut out,
        "Method",
        &escape(&format!(
            "Each point compresses about {} MB (10⁶ bytes) in memory through the synchronous call, \
             {rounds}. Times are scaled to 1 GB. CPU time is user and system time of the whole \
             process. Every output is decompressed by the other provider and compared with the \
             input, outside the time. Unless a figure varies it: level 1, input lent without a \
             copy, a caller that sleeps until responses are there, one doorbell per batch.",
            about.size / 1_000_000,
        )),
    );
    entry(
        &mut out,
        "Colours",
        "Orange is zlib, blue Lookaside, green the alternative in a comparison. Solid is elapsed \
         time; dashed or pale is CPU time.",
    );
    out.push_str("</dl>\n</section>\n");
    out
}

fn section(about: &About<'_>, drawn: &Drawn<'_>) -> String {
    let Drawn { figure, answers, drawing } = drawn;
    let id = escape(&figure.id);
    let machine = about.machine;
    let mut out = format!(
        "<section id=\"{id}\">\n<h2>{}</h2>\n<figure>\n{}</figure>\n<dl>\n",
        escape(&figure.heading),
        drawing.svg
    );
    let entries = [
        ("Shows", escape(&figure.shows)),
        ("The paper", escape(figure.paper)),
        ("Measured", escape(&drawing.measured)),
        ("Machine", escape(&format!("{}, {} cores; {}", machine.cpu, machine.cores, machine.date))),
        ("Command", format!("<code>{}</code>", escape(about.command))),
        ("Files", format!("<a href=\"{id}.csv\">{id}.csv</a>, <a href=\"{id}.svg\">{id}.svg</a>")),
    ];
    for (name, text) in entries {
        line(&mut out, format_args!("<dt>{name}</dt><dd>{text}</dd>"));
    }
    out.push_str("</dl>\n");
    out.push_str(&numbers(answers));
    out.push_str("</section>\n");
    out
}

/// The figure's numbers, and each point as a command of its own.
fn numbers(answers: &[Answer<'_>]) -> String {
    let mut out = String::from(
        "<details><summary>Numbers, and a command for each point</summary>\n\
         <div class=\"scroll\"><table>\n<tr><th>point</th><th>ratio %</th><th>elapsed s/GB</th>\
         <th>min to max</th><th>CPU s/GB</th><th>min to max</th><th>MB/s</th>\
         </tr>\n",
    );
    for Answer { point, outcome } in answers {
        let line_of = |series: &str| answers.iter().filter(|a| a.point.series == series).count();
        let place = match line_of(&point.series) {
            1 => point.series.clone(),
            _ if point.x >= 1024.0 => format!("{}, {}", point.series, size_text(point.x as usize)),
            _ => format!("{}, {}", point.series, point.x),
        };
        let (elapsed, cpu) = (outcome.elapsed_per_gb(), outcome.cpu_per_gb());
        let range = |min: f64, max: f64| format!("{} to {}", number(min), number(max));
        line(
            &mut out,
            format_args!(
                "<tr><td>{}</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{:.0}</td></tr>",
                escape(&place),
                outcome.ratio_percent(),
                number(elapsed.median),
                range(elapsed.min, elapsed.max),
                number(cpu.median),
                range(cpu.min, cpu.max),
                1000.0 / elapsed.median.max(1e-9),
            ),
        );
    }
    out.push_str("</table></div>\n<pre>");
    for Answer { point, .. } in answers {
        line(&mut out, format_args!("{}", escape(&command(&point.setting))));
    }
    out.push_str("</pre></details>\n");
    out
}

/// The point by hand, in the paper's letters where it has them.
fn command(s: &Setting) -> String {
    let mut out = format!(
        "parcomp -p {} -i FILE -o FILE.cf --format cf -l1 -c{} -t{}",
        s.who.name(),
        s.chunk >> 10,
        s.threads
    );
    if s.who == Who::Lookaside {
        out.push_str(&format!(" -j{} --engines {}", s.jobs, s.engines));
        let default = Setting::device(s.jobs, s.engines);
        if s.wait != default.wait {
            out.push_str(&format!(" --wait {}", s.wait_name()));
        }
        if s.doorbell != default.doorbell {
            out.push_str(&format!(" --doorbell {}", s.doorbell_name()));
        }
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}
