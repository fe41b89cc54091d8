//! Who is answered: the person to whom the address with the key was printed, in a page of this server alone.
//!
//! Any page that a browser shows may send requests to loopback, so nothing is believed because of where it came from:
//! * the Host must be this server's, so that another name that resolves to loopback (DNS rebinding) reaches nothing;
//! * Origin, where it is sent, must be this server's, and what is not a navigation must not come from another site;
//! * every request carries the key, in a cookie that other sites' requests do not get; a POST carries it in a header
//!   too, which a page of another origin cannot set;
//! * headers forbid pages to load anything from elsewhere and to be framed, and reports, whose text is not ours to vouch
//!   for, are shown without the rights of this origin.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;

/// The header of a POST that holds the key.
pub const KEY_HEADER: &str = "x-ndnweir-key";
/// What pages may load: what this server has.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Reports: their own scripts and styles, an origin of their own, and nothing from anywhere.
pub const REPORT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                                 img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                                 sandbox allow-scripts allow-downloads allow-modals";

/// What a server knows about itself.
#[derive(Debug)]
pub struct Guard {
    /// The port.
    pub port: u16,
    /// 128 random bits in hexadecimal digits.
    pub key: String,
}

impl Guard {
    /// A new key.
    ///
    /// # Errors
    /// If the system gives no random bits.
    pub fn new(port: u16) -> Result<Guard, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        Ok(Guard { port, key: random.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port))
    }

    /// Cookies do not tell ports apart, their names do.
    fn cookie(&self) -> String {
        format!("ndnweir-{}", self.port)
    }

    /// Compared without a hint in the time at where they differ.
    fn is_key(&self, text: &str) -> bool {
        text.len() == self.key.len() && text.bytes().zip(self.key.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|text| text.split(';'))
            .any(|pair| pair.trim().split_once('=').is_some_and(|(known, value)| known == name && self.is_key(value)))
    }

    /// Why a request is rejected.
    fn problem(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        let one = |name: HeaderName| {
            let mut all = headers.get_all(name).iter();
            (all.next().map(|value| value.to_str().unwrap_or_default()), all.next().is_some())
        };
        let hosts = self.hosts();
        match one(HOST) {
            (Some(host), false) if hosts.iter().any(|own| own == host) => {}
            _ => return Some((StatusCode::MISDIRECTED_REQUEST, "this server has another name")),
        }
        match one(ORIGIN) {
            (None, _) => {}
            (Some(origin), false) if hosts.iter().any(|own| origin.strip_prefix("http://") == Some(own)) => {}
            _ => return Some((StatusCode::FORBIDDEN, "requests of other sites are rejected")),
        }
        let fetch = |name: &'static str| one(HeaderName::from_static(name)).0.unwrap_or("none").to_owned();
        let navigates = request.method() == Method::GET && fetch("sec-fetch-mode") == "navigate";
        if !["none", "same-origin"].contains(&fetch("sec-fetch-site").as_str()) && !navigates {
            return Some((StatusCode::FORBIDDEN, "requests of other sites are rejected"));
        }
        if ![Method::GET, Method::POST].contains(request.method()) {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"));
        }
        if !self.has_cookie(headers) {
            return Some((StatusCode::UNAUTHORIZED, "open the address that ndnweir printed, with its key"));
        }
        if request.method() == Method::POST {
            let key = one(HeaderName::from_static(KEY_HEADER)).0.is_some_and(|key| self.is_key(key));
            let kind = one(CONTENT_TYPE).0.is_some_and(|kind| kind == "application/json");
            if !key || !kind {
                return Some((StatusCode::FORBIDDEN, "the page's key is missing"));
            }
        }
        None
    }

    /// The address with the key: sets the cookie and goes on without the key.
    fn enters(&self, request: &Request) -> Option<Response> {
        let query = request.uri().query()?;
        let key = query.split('&').find_map(|pair| pair.strip_prefix("key="))?;
        let own = self.hosts();
        let host = request.headers().get(HOST)?.to_str().ok()?;
        if request.method() != Method::GET || !self.is_key(key) || !own.iter().any(|own| own == host) {
            return None;
        }
        // A path of this server, not `//elsewhere`.
        let path = format!("/{}", request.uri().path().trim_start_matches('/'));
        let mut response = Redirect::to(&path).into_response();
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie(), self.key);
        response.headers_mut().insert(SET_COOKIE, HeaderValue::from_str(&cookie).ok()?);
        Some(response)
    }
}

/// Rejects, or answers with headers that bound what pages may do.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match (guard.enters(&request), guard.problem(&request)) {
        (Some(response), _) => response,
        (None, Some((status, why))) => (status, format!("{why}\n")).into_response(),
        (None, None) => next.run(request).await,
    };
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, Body::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard { port: 7000, key: "00112233445566778899aabbccddeeff".into() }
    }

    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard().problem(&request.body(Body::empty()).unwrap()).map(|(status, _)| status.as_u16())
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:7000");
    const COOKIE: (&str, &str) = ("cookie", "a=b; ndnweir-7000=00112233445566778899aabbccddeeff");

    #[test]
    fn requests_of_other_names_sites_and_users_are_rejected() {
        assert_eq!(status("GET", "/", &[HOST, COOKIE]), None);
        assert_eq!(status("GET", "/", &[("host", "localhost:7000"), COOKIE]), None);
        for host in
            ["evil.example:7000", "127.0.0.1", "127.0.0.1:7001", "localhost:7000.evil.example", "", "[::1]:7000"]
        {
            assert_eq!(status("GET", "/", &[("host", host), COOKIE]), Some(421), "{host}");
        }
        assert_eq!(status("GET", "/", &[COOKIE]), Some(421));
        assert_eq!(status("GET", "/", &[HOST, ("host", "evil.example"), COOKIE]), Some(421));
        for origin in ["http://evil.example", "null", "https://127.0.0.1:7000", "http://127.0.0.1:80", ""] {
            assert_eq!(status("GET", "/api/runs", &[HOST, COOKIE, ("origin", origin)]), Some(403), "{origin}");
        }
        assert_eq!(status("GET", "/api/runs", &[HOST, COOKIE, ("origin", "http://localhost:7000")]), None);
        assert_eq!(status("GET", "/api/runs", &[HOST, COOKIE, ("sec-fetch-site", "cross-site")]), Some(403));
        let link = [HOST, COOKIE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(status("GET", "/runs/1", &link), None);
        assert_eq!(status("POST", "/runs/1", &link), Some(403));
        assert_eq!(status("GET", "/", &[HOST]), Some(401));
        assert_eq!(status("GET", "/", &[HOST, ("cookie", "ndnweir-7000=00112233445566778899aabbccddeefe")]), Some(401));
        assert_eq!(status("GET", "/", &[HOST, ("cookie", "ndnweir-7001=00112233445566778899aabbccddeeff")]), Some(401));
        assert_eq!(status("OPTIONS", "/api/runs", &[HOST, COOKIE]), Some(405));
    }

    #[test]
    fn a_post_needs_the_key_in_a_header_and_json() {
        let key = (KEY_HEADER, "00112233445566778899aabbccddeeff");
        let json = ("content-type", "application/json");
        assert_eq!(status("POST", "/api/runs", &[HOST, COOKIE, key, json]), None);
        assert_eq!(status("POST", "/api/runs", &[HOST, COOKIE, json]), Some(403));
        assert_eq!(status("POST", "/api/runs", &[HOST, COOKIE, (KEY_HEADER, "0"), json]), Some(403));
        assert_eq!(status("POST", "/api/runs", &[HOST, COOKIE, key, ("content-type", "text/plain")]), Some(403));
        assert_eq!(status("POST", "/api/runs", &[HOST, key, json]), Some(401));
    }

    #[test]
    fn the_address_with_the_key_leads_to_the_same_path_on_this_server() {
        let ask = |uri: &str, host: &str| {
            let request = Request::builder().uri(uri).header("host", host).body(Body::empty()).unwrap();
            guard().enters(&request)
        };
        let key = guard().key;
        let response = ask(&format!("/runs/3?key={key}"), "localhost:7000").unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("location"), "/runs/3");
        assert_eq!(header("set-cookie"), format!("ndnweir-7000={key}; HttpOnly; SameSite=Strict; Path=/"));
        let elsewhere = ask(&format!("//evil.example/x?key={key}"), "localhost:7000").unwrap();
        assert_eq!(elsewhere.headers()["location"], "/evil.example/x");
        assert!(ask("/?key=1", "localhost:7000").is_none());
        assert!(ask(&format!("/?key={key}"), "evil.example").is_none());
    }
}
