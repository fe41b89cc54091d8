//! Hands a page of text to whoever asks for it over HTTP: one request per connection, within bounds.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Readers at a time; a connection beyond is closed.
const READERS: usize = 8;
/// How long a reader may take, from its connection to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the largest request.
const REQUEST: usize = 8 << 10;
/// Bytes written at once, so that a slow reader's time is looked at.
const PIECE: usize = 16 << 10;
/// How long nobody is admitted when the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves the newest text, in threads of its own.
pub struct Exporter {
    text: Arc<Mutex<String>>,
}

impl Exporter {
    /// Serves at an address.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn open(address: SocketAddr) -> io::Result<Exporter> {
        let listener = TcpListener::bind(address)?;
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
        let text = Arc::new(Mutex::new(String::new()));
        let served = Arc::clone(&text);
        std::thread::Builder::new().name("metrics".into()).spawn(move || serve(&listener, &served))?;
        Ok(Exporter { text })
    }

    /// Replaces the text.
    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

fn serve(listener: &TcpListener, text: &Arc<Mutex<String>>) {
    // Each reader's thread holds one of these.
    let places = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if Arc::strong_count(&places) > READERS {
            continue;
        }
        let (place, text) = (Arc::clone(&places), Arc::clone(text));
        let reader = std::thread::Builder::new().name("metrics-reader".into());
        // Without a thread the connection closes; and a reader that goes away is no concern of ours.
        let _ = reader.spawn(move || {
            let _ = answer(stream, &text);
            drop(place);
        });
    }
}

/// Reads a request and answers it.
fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    let left = || match end.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(Some(left)),
        _ => Err(io::Error::from(io::ErrorKind::TimedOut)),
    };
    let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(left()?)?;
        let read = stream.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..read]);
        if read == 0 || request.len() > REQUEST {
            return Ok(());
        }
    }
    let (status, body) = match request.starts_with(b"GET ") {
        true => ("200 OK", text.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        false => ("405 Method Not Allowed", String::new()),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    for piece in [head.as_bytes()].into_iter().chain(body.as_bytes().chunks(PIECE)) {
        stream.set_write_timeout(left()?)?;
        stream.write_all(piece)?;
    }
    Ok(())
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
    fn whoever_asks_gets_the_newest_text_and_other_requests_are_refused() {
        let (exporter, address) = exporter();
        let text = ask(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nall is well\n"), "{text}");
        assert!(text.contains("Content-Length: 12\r\n"), "{text}");
        exporter.publish("better".into());
        assert!(ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nbetter"));
        assert!(ask(address, b"POST / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert_eq!(ask(address, &[b'x'; 3 * REQUEST]), "");
    }

    #[test]
    fn readers_who_never_ask_are_closed_and_others_come_to_their_turn() {
        let (_exporter, address) = exporter();
        let mut silent: Vec<TcpStream> = (0..3 * READERS).map(|_| TcpStream::connect(address).unwrap()).collect();
        for stream in &mut silent {
            stream.write_all(b"GET /").unwrap_or(());
        }
        // Those beyond the bound are closed at once, the first ones when their time is over.
        for mut stream in silent {
            assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)));
        }
        let tries = 0..500;
        let answered = tries.into_iter().any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            ask(address, b"GET / HTTP/1.0\r\n\r\n").ends_with("all is well\n")
        });
        assert!(answered);
    }
}
