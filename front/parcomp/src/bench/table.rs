//! A figure's numbers: as CSV, and as the rows of a table.

use super::{figures::Answer, setting::Who};

/// The columns of every CSV file.
const COLUMNS: &str = "figure,series,x,corpus,provider,level,chunk_bytes,threads,jobs,engines,copy,\
                       wait,doorbell,bytes_in,bytes_out,ratio_percent,rounds,elapsed_s_median,\
                       elapsed_s_min,elapsed_s_max,cpu_s_median,cpu_s_min,cpu_s_max,mb_per_s,\
                       elapsed_s_per_gb,cpu_s_per_gb";

/// One line for each point. Columns that a provider does not heed are empty.
pub fn csv(figure: &str, corpora: &[String], answers: &[Answer<'_>]) -> String {
    let mut out = format!("{COLUMNS}\n");
    for Answer { point, outcome } in answers {
        let s = &point.setting;
        let device = |text: String| if s.who == Who::Lookaside { text } else { String::new() };
        let seconds = |s: f64| format!("{s:.6}");
        let fields = [
            figure.to_owned(),
            point.series.clone(),
            point.x.to_string(),
            corpora.get(point.corpus).cloned().unwrap_or_default(),
            s.who.name().to_owned(),
            "1".to_owned(),
            s.chunk.to_string(),
            s.threads.to_string(),
            device(s.jobs.to_string()),
            device(s.engines.to_string()),
            device(if s.copy { "yes" } else { "no" }.to_owned()),
            device(s.wait_name().to_owned()),
            device(s.doorbell_name().to_owned()),
            outcome.bytes_in.to_string(),
            outcome.bytes_out.to_string(),
            format!("{:.3}", outcome.ratio_percent()),
            outcome.rounds.to_string(),
            seconds(outcome.elapsed.median),
            seconds(outcome.elapsed.min),
            seconds(outcome.elapsed.max),
            seconds(outcome.cpu.median),
            seconds(outcome.cpu.min),
            seconds(outcome.cpu.max),
            format!("{:.1}", outcome.bytes_in as f64 / 1e6 / outcome.elapsed.median.max(1e-9)),
            format!("{:.4}", outcome.elapsed_per_gb().median),
            format!("{:.4}", outcome.cpu_per_gb().median),
        ];
        let fields: Vec<_> = fields.iter().map(|f| quoted(f)).collect();
        out.push_str(&fields.join(","));
        out.push('\n');
    }
    out
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
