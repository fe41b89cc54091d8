//! Controllers that lead a forwarder.

use crate::support::Agent;
use ndnweir_control::controller::config::ControlConfig;
use ndnweir_control::controller::run::{ask, start};
use ndnweir_control::controller::status::Status;
use std::net::SocketAddr;
use std::time::Duration;

/// Starts a controller that ends with this process; where it reports.
fn controller(agent: &Agent) -> SocketAddr {
    let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "period = \"100ms\"\nlisten = \"{listen}\"\n[[router]]\nname = \"a\"\naddress = \"{}\"\n",
        agent.address()
    );
    let config = ControlConfig::read("control.toml", &text).unwrap();
    std::thread::spawn(move || start(config).unwrap());
    listen
}

/// Asks until it is so. A controller that is never so keeps the test from ending.
fn wait(listen: SocketAddr, until: impl Fn(&Status) -> bool) -> Status {
    loop {
        if let Some(status) = ask(listen, Duration::from_secs(10)).ok().filter(&until) {
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_controller_that_is_overtaken_stands_by_though_it_has_no_orders() {
    let agent = Agent::start();
    let reporting = |status: &Status| status.leads && status.routers[0].state == "reporting";
    let first = controller(&agent);
    wait(first, reporting);
    let second = controller(&agent);
    let second = wait(second, reporting);
    let first = wait(first, |status| !status.leads);
    assert!(second.election > first.election, "{} after {}", second.election, first.election);
    assert_eq!((first.counts.orders, second.counts.orders), (0, 0));
}
