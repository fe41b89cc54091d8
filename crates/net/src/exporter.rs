//! Serves a page of text over HTTP: one request per connection, within bounds. One thread serves all readers;
//! connections without a request are closed to make room for others, the oldest first.

use crate::poll::{Poll, Ready};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Readers at a time.
const MAX_READERS: usize = 64;
/// How long a reader may take to send its request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the largest request.
const REQUEST: usize = 8 << 10;
/// How long no connection is accepted when the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections accepted at a time, before readers are served.
const BATCH: usize = 32;
/// The listener among the sources; readers have numbers of their own.
const LISTENER: usize = 0;

/// Serves the newest text, in a thread of its own.
pub struct Exporter {
    pages: Arc<Mutex<Pages>>,
}

/// What is served: a text at every path, and others at paths of their own, with their kinds.
#[derive(Default)]
struct Pages {
    text: String,
    others: BTreeMap<&'static str, (&'static str, String)>,
}

impl Exporter {
    /// Serves at an address.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn open(address: SocketAddr) -> io::Result<Exporter> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
        let pages = Arc::<Mutex<Pages>>::default();
        let poll = Poll::new()?;
        poll.sources().add(&listener, LISTENER)?;
        let (served, readers) = (Arc::clone(&pages), BTreeMap::new());
        let mut server = Server { listener, poll, readers, next: LISTENER + 1, pages: served };
        std::thread::Builder::new().name("metrics".into()).spawn(move || {
            if let Err(error) = server.serve() {
                tracing::error!(%error, "metrics are not served any more");
            }
        })?;
        Ok(Exporter { pages })
    }

    /// Replaces the text.
    pub fn publish(&self, text: String) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).text = text;
    }

    /// Replaces what is served at a path of its own.
    pub fn publish_at(&self, path: &'static str, kind: &'static str, text: String) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).others.insert(path, (kind, text));
    }
}

struct Reader {
    stream: TcpStream,
    until: Instant,
    request: Vec<u8>,
    /// Its answer, once it has sent a request.
    answer: Vec<u8>,
    written: usize,
}

impl Reader {
    fn has_sent_its_request(&self) -> bool {
        !self.answer.is_empty()
    }

    /// Reads and writes what is possible now; whether that was all, or the connection failed.
    fn proceed(&mut self, pages: &Mutex<Pages>) -> bool {
        let mut buffer = [0; 1024];
        while !self.has_sent_its_request() {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(read) => self.request.extend_from_slice(&buffer[..read]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
            }
            if self.request.windows(4).any(|end| end == b"\r\n\r\n") {
                self.answer = answer(&self.request, pages);
                self.until = Instant::now() + PATIENCE;
            } else if self.request.len() > REQUEST {
                return true;
            }
        }
        while self.written < self.answer.len() {
            match self.stream.write(&self.answer[self.written..]) {
                Ok(0) => return true,
                Ok(written) => self.written += written,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
            }
        }
        true
    }
}

struct Server {
    listener: TcpListener,
    poll: Poll,
    /// By number, in the order of arrival.
    readers: BTreeMap<usize, Reader>,
    next: usize,
    pages: Arc<Mutex<Pages>>,
}

impl Server {
    fn serve(&mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let first = self.readers.values().map(|reader| reader.until).min();
            let wait = first.map(|until| until.saturating_duration_since(Instant::now()));
            self.poll.wait(wait, &mut ready)?;
            for event in &ready {
                // Readers that have sent a request are not delayed by new connections.
                if event.key != LISTENER {
                    self.proceed(event.key);
                }
            }
            if ready.iter().any(|event| event.key == LISTENER) {
                self.admit();
            }
            let now = Instant::now();
            let late: Vec<usize> =
                self.readers.iter().filter(|(_, reader)| reader.until <= now).map(|(key, _)| *key).collect();
            late.into_iter().for_each(|key| self.close(key));
        }
    }

    fn admit(&mut self) {
        for _ in 0..BATCH {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => return,
                Err(_) => {
                    // No descriptors: those of readers without a request are released.
                    self.make_room();
                    std::thread::sleep(PAUSE);
                    return;
                }
            };
            if self.readers.len() >= MAX_READERS {
                self.make_room();
            }
            let key = self.next;
            self.next += 1;
            if stream.set_nonblocking(true).is_err() || self.poll.sources().add(&stream, key).is_err() {
                continue;
            }
            let until = Instant::now() + PATIENCE;
            let reader = Reader { stream, until, request: Vec::new(), answer: Vec::new(), written: 0 };
            self.readers.insert(key, reader);
            // Most have sent their request by now.
            self.proceed(key);
        }
    }

    /// Closes the reader that has been connected longest without a request; if all have sent one, the oldest.
    fn make_room(&mut self) {
        let silent = self.readers.iter().find(|(_, reader)| !reader.has_sent_its_request()).map(|(key, _)| *key);
        if let Some(key) = silent.or_else(|| self.readers.keys().next().copied()) {
            self.close(key);
        }
    }

    fn proceed(&mut self, key: usize) {
        let Some(reader) = self.readers.get_mut(&key) else { return };
        let done = reader.proceed(&self.pages);
        let answered = reader.has_sent_its_request();
        if done || answered && self.poll.sources().set_readiness(&reader.stream, key, false, true).is_err() {
            self.close(key);
        }
    }

    fn close(&mut self, key: usize) {
        if let Some(reader) = self.readers.remove(&key) {
            // Closing it removes it as well.
            let _ = self.poll.sources().remove(&reader.stream);
        }
    }
}

fn answer(request: &[u8], pages: &Mutex<Pages>) -> Vec<u8> {
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    let pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, kind, body) = match request.strip_prefix(b"GET ") {
        Some(rest) => {
            let path = rest.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
            let other = pages.others.iter().find(|(known, _)| known.as_bytes() == path);
            let (kind, text) = other.map_or((TEXT, &pages.text), |(_, (kind, text))| (*kind, text));
            ("200 OK", kind, text.clone())
        }
        None => ("405 Method Not Allowed", TEXT, String::new()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.into_bytes(), body.into_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exporter on a free port, with some text.
    fn exporter() -> (Exporter, SocketAddr) {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let exporter = Exporter::open(address).unwrap();
        exporter.publish("all is well\n".into());
        (exporter, address)
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut text = Vec::new();
        // A connection that is closed with bytes unread may end in an error.
        let _ = stream.read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn requests_get_the_newest_text_and_invalid_ones_are_rejected() {
        let (exporter, address) = exporter();
        let text = ask(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nall is well\n"), "{text}");
        assert!(text.contains("Content-Length: 12\r\n"), "{text}");
        exporter.publish("better".into());
        exporter.publish_at("/status", "application/json", "{}".into());
        let other = ask(address, b"GET /status HTTP/1.1\r\n\r\n");
        assert!(other.contains("Content-Type: application/json\r\n") && other.ends_with("\r\n\r\n{}"), "{other}");
        assert!(ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nbetter"));
        assert!(ask(address, b"POST / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert_eq!(ask(address, &[b'x'; 3 * REQUEST]), "");
    }

    #[test]
    fn a_page_larger_than_buffers_reaches_a_slow_reader() {
        let (exporter, address) = exporter();
        exporter.publish("x".repeat(20 << 20));
        assert!(ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with(&"x".repeat(1000)));
    }

    #[test]
    fn every_scrape_is_answered_next_to_readers_without_requests() {
        let (_exporter, address) = exporter();
        let mut silent = std::collections::VecDeque::new();
        for _ in 0..40 {
            // Three times as many as there is room for, all the time.
            for _ in 0..20 {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"GET /").unwrap_or(());
                silent.push_back(stream);
            }
            silent.drain(..silent.len().saturating_sub(3 * MAX_READERS));
            assert!(ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with("all is well\n"));
        }
        // An idle connection is not kept.
        for mut stream in silent {
            assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)));
        }
    }
}
