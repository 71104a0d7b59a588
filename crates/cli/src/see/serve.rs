//! `lookaside metrics --listen`: answers scrapes over HTTP, one request for each connection.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use super::metrics::{Format, Metrics};

/// The most connections at once: others are closed.
const MOST: usize = 16;
/// The longest head of a request.
const HEAD: usize = 8192;
/// The longest time that a connection is kept.
const TIME: Duration = Duration::from_secs(5);

/// Serves until the process is ended.
pub(crate) fn run(address: &str, metrics: &Metrics) -> Result<(), Box<dyn std::error::Error>> {
    let say = |e: io::Error| match e.kind() {
        io::ErrorKind::InvalidInput => format!("--listen {address}: PORT or HOST:PORT is wanted"),
        _ => format!("--listen {address}: {e}"),
    };
    let addresses: Vec<_> = with_host(address).to_socket_addrs().map_err(say)?.collect();
    let listener = TcpListener::bind(&addresses[..]).map_err(say)?;
    eprintln!("lookaside: http://{}/metrics", listener.local_addr()?);
    let count = Arc::new(AtomicUsize::new(0));
    // Readings of many scrapers take turns.
    let turn = Mutex::new(());
    thread::scope(|scope| {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                // Without descriptors there will be some again.
                Err(_) => {
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            if count.fetch_add(1, SeqCst) >= MOST {
                count.fetch_sub(1, SeqCst);
                continue;
            }
            let (serving, turn) = (Serving(count.clone()), &turn);
            let serve = move || {
                let _serving = serving;
                let _ = answer(stream, metrics, turn);
            };
            // Where the system refuses a thread, the connection is closed.
            let _ = thread::Builder::new().spawn_scoped(scope, serve);
        }
    })
}

/// A connection that is served.
struct Serving(Arc<AtomicUsize>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// An address without a host is this machine's own.
fn with_host(address: &str) -> String {
    match address.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None if address.parse::<u16>().is_ok() => format!("127.0.0.1:{address}"),
        None => address.to_owned(),
    }
}

fn answer(mut stream: TcpStream, metrics: &Metrics, turn: &Mutex<()>) -> io::Result<()> {
    let start = Instant::now();
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = TIME.saturating_sub(start.elapsed());
        if left.is_zero() || head.len() > HEAD {
            return respond(&mut stream, "400 Bad Request", "text/plain", "too long\n", true);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(()),
            n => head.extend_from_slice(&part[..n]),
        }
    }
    stream.set_write_timeout(Some(TIME))?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    if !matches!(method, "GET" | "HEAD") {
        return respond(&mut stream, "405 Method Not Allowed", "text/plain", "GET\n", true);
    }
    let body = method == "GET";
    if path != "/metrics" {
        return respond(&mut stream, "404 Not Found", "text/plain", "see /metrics\n", body);
    }
    let open = head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("accept:")
            .is_some_and(|kinds| kinds.contains("application/openmetrics-text"))
    });
    let (format, kind) = match open {
        true => (Format::Open, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        false => (Format::Text, "text/plain; version=0.0.4; charset=utf-8"),
    };
    let text = {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.text(format)
    };
    respond(&mut stream, "200 OK", kind, &text, body)
}

fn respond(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    text: &str,
    body: bool,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    if body {
        stream.write_all(text.as_bytes())?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_host_are_local() {
        assert_eq!(with_host("9100"), "127.0.0.1:9100");
        assert_eq!(with_host(":9100"), "127.0.0.1:9100");
        assert_eq!(with_host("[::1]:9100"), "[::1]:9100");
        assert_eq!(with_host("10.0.0.1:9100"), "10.0.0.1:9100");
    }
}
