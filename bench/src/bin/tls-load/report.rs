//! What came of the connections, as JSON.

use std::fmt::Write;

use rustls::ClientConnection;

/// Counts and times of a run.
#[derive(Default)]
pub struct Report {
    /// From the start of the connection to the end of the handshake, in nanoseconds.
    pub handshake_ns: Vec<u64>,
    /// From the start of the connection to the end of the answer.
    pub answer_ns: Vec<u64>,
    /// Connections cut as planned.
    pub cut: u64,
    /// Of them, reset between the ClientHello and the server's answer.
    pub reset_at_work: u64,
    /// Connections that failed otherwise.
    pub errors: u64,
    /// What the first of them said.
    pub first_error: Option<String>,
    /// Version, cipher suite and group of the first handshake.
    pub agreed: Option<(String, String, String)>,
}

impl Report {
    /// Notes what was agreed on.
    pub fn agreed(&mut self, tls: &ClientConnection) {
        if self.agreed.is_none() {
            self.agreed = Some((
                tls.protocol_version().map_or_else(String::new, |v| format!("{v:?}")),
                tls.negotiated_cipher_suite()
                    .map_or_else(String::new, |s| format!("{:?}", s.suite())),
                tls.negotiated_key_exchange_group()
                    .map_or_else(String::new, |g| format!("{:?}", g.name())),
            ));
        }
    }

    /// Notes a failure.
    pub fn failed(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }

    /// The object, on one line.
    pub fn json(&self, seconds: f64, cpu_seconds: f64) -> String {
        let handshakes = self.handshake_ns.len();
        let rate = handshakes as f64 / seconds;
        let mut out = format!(
            "{{\"handshakes\":{handshakes},\"errors\":{},\"cut\":{},\"reset_at_work\":{},\
             \"seconds\":{seconds:.6},\"cpu_seconds\":{cpu_seconds:.6},\
             \"handshakes_per_s\":{rate:.1}",
            self.errors, self.cut, self.reset_at_work,
        );
        for (name, times) in [("handshake_us", &self.handshake_ns), ("answer_us", &self.answer_ns)]
        {
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let at = |part: f64| percentile(&sorted, part) as f64 / 1000.0;
            // Writing to a String cannot fail.
            let _ = write!(
                out,
                ",\"{name}\":{{\"p50\":{:.1},\"p90\":{:.1},\"p99\":{:.1},\"max\":{:.1}}}",
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0),
            );
        }
        if let Some((version, suite, group)) = &self.agreed {
            let _ = write!(
                out,
                ",\"version\":{},\"suite\":{},\"group\":{}",
                quoted(version),
                quoted(suite),
                quoted(group),
            );
        }
        if let Some(error) = &self.first_error {
            let _ = write!(out, ",\"first_error\":{}", quoted(error));
        }
        out.push('}');
        out
    }
}

/// The smallest value that is not below `part` of all of them; 0 of nothing.
fn percentile(sorted: &[u64], part: f64) -> u64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 0.5), 50);
        assert_eq!(percentile(&hundred, 0.99), 99);
        assert_eq!(percentile(&hundred, 1.0), 100);
        assert_eq!(percentile(&[7], 0.5), 7);
        assert_eq!(percentile(&[], 0.5), 0);
    }

    #[test]
    fn what_servers_say_stays_json() {
        assert_eq!(quoted("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\ \\u000a\"");
    }
}
