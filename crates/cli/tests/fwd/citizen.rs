//! The forwarder and producers on other machines: hints towards them, registrations from other machines.

use crate::application::object;
use crate::common::{KEY, PUBLIC};
use crate::process::{Ended, Fwd, Running, wait_for};

/// Puts an object at a forwarder and waits until it is registered there.
fn put(fwd: &Fwd, bytes: &[u8], flags: &str) -> Running {
    std::fs::write(fwd.folder().join("in"), bytes).unwrap();
    let put = Running::start(&mut fwd.command(&format!("put in /object {flags}")));
    wait_for("the producer", || fwd.tool(&["route", "list"]).contains("/object "));
    put
}

/// The result of a tool at a forwarder: exit status and output.
fn end(fwd: &Fwd, line: &str) -> (Option<i32>, String) {
    let Ended { code, stderr, .. } = Running::start(&mut fwd.command(line)).end();
    (code, stderr)
}

/// The result of a fetch at a forwarder: exit status, output, and the file.
fn get(fwd: &Fwd, flags: &str) -> (Option<i32>, String, Option<Vec<u8>>) {
    let (status, text) = end(fwd, &format!("get /object -o out --restart {flags}"));
    (status, text, std::fs::read(fwd.folder().join("out")).ok())
}

#[test]
fn a_hint_leads_to_a_producer_where_no_route_does() {
    let far = Fwd::with_config("region = [\"/net/far/7\"]\n[listen]\nudp = [\"127.0.0.1:0\"]\n");
    let near = Fwd::start(&format!("--udp 127.0.0.1:0 --route /net=udp4://{}", far.udp()));
    let bytes = object(100_000);
    let _put = put(&far, &bytes, "");
    let (status, text, _) = get(&near, "--timeout 1s");
    assert!(status == Some(1) && text.contains("no route"), "{status:?} {text}");
    let (status, text, _) = get(&near, "--timeout 1s --hint /net/other");
    assert!(status == Some(1) && text.contains("no route"), "{status:?}: another region: {text}");
    let (status, text, copy) = get(&near, "--hint /unknown --hint /net/far");
    assert!(status == Some(0) && copy.as_deref() == Some(&bytes[..]), "{status:?} {text}");
}

#[test]
fn a_region_can_be_a_flag_and_is_read_again() {
    let far = Fwd::start("--udp 127.0.0.1:0 --region /net/far");
    let mut near = Fwd::with_config("[listen]\nudp = [\"127.0.0.1:0\"]\n");
    let route =
        format!("[listen]\nudp = [\"127.0.0.1:0\"]\n[[route]]\nprefix = \"/net\"\nto = \"udp4://{}\"\n", far.udp());
    near = near.again_with_config(&route);
    let bytes = object(10_000);
    let _put = put(&far, &bytes, "");
    assert_eq!(get(&near, "--hint /net/far").2.as_deref(), Some(&bytes[..]));
    near.tool(&["cs", "erase", "/"]);
    near.write_config(&format!("region = [\"/net/far\"]\n{route}"));
    near.signal("HUP");
    near.wait_for_line("configuration read again");
    let (status, text, _) = get(&near, "--timeout 1s --hint /net/far");
    assert!(status == Some(1) && text.contains("no route"), "{status:?}: the name decides now: {text}");
}

#[test]
fn over_tcp_and_udp_a_producer_registers_with_a_key_that_is_trusted() {
    let config = "localhop = true\n[listen]\nudp = [\"127.0.0.1:0\"]\ntcp = [\"127.0.0.1:0\"]\n\
                  [[trust-anchor]]\nkey = \"key.pub\"\nname = \"/me\"\n";
    let fwd = Fwd::start("");
    std::fs::write(fwd.folder().join("key.pem"), KEY).unwrap();
    std::fs::write(fwd.folder().join("key.pub"), PUBLIC).unwrap();
    let fwd = fwd.again_with_config(config);
    let bytes = object(100_000);
    std::fs::write(fwd.folder().join("in"), &bytes).unwrap();
    for uri in [format!("tcp://{}", fwd.tcp()), format!("udp://{}", fwd.udp())] {
        for who in ["", "--key key.pem", "--key key.pem --key-name /other"] {
            let (status, text) = end(&fwd, &format!("put in /object --transport {uri} {who}"));
            assert!(status == Some(1) && text.contains("403") && text.contains("help: "), "{uri} {who}: {text}");
        }
        let mut put = put(&fwd, &bytes, &format!("--transport {uri} --key key.pem --key-name /me/KEY/1"));
        let (status, text, copy) = get(&fwd, "");
        assert!(status == Some(0) && copy.as_deref() == Some(&bytes[..]), "{uri} {status:?} {text}");
        let route = fwd.tool(&["route", "list"]);
        let ends = route.lines().any(|line| line.starts_with("/object ") && line.ends_with(" s"));
        assert_eq!(ends, uri.starts_with("udp"), "{route}");
        put.kill();
        fwd.tool(&["cs", "erase", "/"]);
        let face = route.lines().last().and_then(|line| line.split_whitespace().nth(1)).unwrap().to_owned();
        fwd.tool(&["face", "destroy", &face]);
    }
}

#[test]
fn a_forwarder_that_accepts_nothing_from_neighbours_is_distinguished_from_one_that_does_not_trust_them() {
    let fwd = Fwd::start("--udp 127.0.0.1:0");
    std::fs::write(fwd.folder().join("in"), [1; 100]).unwrap();
    let (status, text) = end(&fwd, &format!("put in /object --transport udp://{}", fwd.udp()));
    assert!(status == Some(1) && text.contains("/localhop/nfd") && text.contains("localhop = true"), "{text}");
}

#[test]
fn channels_are_the_addresses_that_are_listened_on() {
    let fwd = Fwd::start("--udp 127.0.0.1:0 --tcp 127.0.0.1:0");
    let listed = fwd.tool(&["face", "channels"]);
    let expected = [format!("udp4://{}", fwd.udp()), format!("tcp4://{}", fwd.tcp()), "unix://s".to_owned()];
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    // Where an accepted connection ends here is where was listened.
    let _peer = std::net::TcpStream::connect(fwd.tcp()).unwrap();
    let here = format!("tcp4://{}", fwd.tcp());
    wait_for("its face", || {
        fwd.tool(&["face", "list"]).lines().any(|line| line.split_whitespace().nth(2) == Some(&here))
    });
}
