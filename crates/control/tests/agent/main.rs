//! The gNMI agent of a real forwarder, asked over loopback.

mod leading;
mod setting;
mod subscribing;
mod support;

use ndnweir_control::agent::Identity;
use ndnweir_control::certificates::{Authority, Host};
use ndnweir_control::proto::gnmi::{CapabilityRequest, Encoding, GetRequest, get_request::DataType, typed_value};
use subscribing::Subscriber;
use support::{Agent, cost, json_of, path, set};
use tonic::Code;

#[tokio::test]
async fn capabilities_tell_model_encodings_and_version() {
    let agent = Agent::start();
    let reported = agent.client().await.capabilities(CapabilityRequest::default()).await.unwrap().into_inner();
    assert_eq!(
        (reported.supported_models[0].name.as_str(), reported.g_nmi_version.as_str()),
        ("ndnweir-router", "0.10.0")
    );
    let encodings = [Encoding::JsonIetf, Encoding::Proto, Encoding::Json].map(i32::from);
    assert_eq!(reported.supported_encodings, encodings);
}

#[tokio::test]
async fn a_get_tells_what_the_forwarder_reports_of_itself() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let get = |text: &str, r#type: DataType, encoding: Encoding| GetRequest {
        path: vec![path(text)],
        r#type: r#type.into(),
        encoding: encoding.into(),
        ..GetRequest::default()
    };
    let reported = client.get(get("/ndn/faces", DataType::All, Encoding::JsonIetf)).await.unwrap().into_inner();
    let json = json_of(&reported.notification[0].update[0]);
    let report = agent.ask(|daemon| daemon.report());
    let faces = json["ndnweir-router:face"].as_array().unwrap();
    assert_eq!(faces.len(), report.faces.len());
    for (face, reported) in faces.iter().zip(&report.faces) {
        assert_eq!(face["id"], reported.status.face_id.to_string());
        assert_eq!(face["state"]["remote-uri"], reported.status.remote_uri);
    }
    let config = client.get(get("/ndn/faces", DataType::Config, Encoding::JsonIetf)).await.unwrap().into_inner();
    assert_eq!(json_of(&config.notification[0].update[0])["ndnweir-router:face"][0]["state"], serde_json::Value::Null);
    let leaf = get("/ndn/faces/face/state/rate", DataType::State, Encoding::Proto);
    let rates = client.get(leaf).await.unwrap().into_inner();
    let values: Vec<_> = rates.notification.iter().flat_map(|n| &n.update).map(|u| u.val.clone().unwrap()).collect();
    assert!(values.iter().all(|v| v.value == Some(typed_value::Value::UintVal(10_000_000))), "{values:?}");
    let whole = client.get(GetRequest::default()).await.unwrap().into_inner();
    assert!(json_of(&whole.notification[0].update[0])["ndn"]["router"]["state"]["version"].is_string());
}

#[tokio::test]
async fn a_get_that_cannot_be_answered_says_why() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let ask = |request: GetRequest| {
        let mut client = client.clone();
        async move { client.get(request).await.unwrap_err().code() }
    };
    let of = |text: &str| GetRequest { path: vec![path(text)], ..GetRequest::default() };
    assert_eq!(ask(of("/ndn/nothing")).await, Code::InvalidArgument);
    assert_eq!(ask(of("/ndn/faces/face[id=1]")).await, Code::NotFound);
    assert_eq!(ask(GetRequest { encoding: Encoding::Ascii.into(), ..of("/ndn") }).await, Code::Unimplemented);
    assert_eq!(ask(GetRequest { encoding: 99, ..of("/ndn") }).await, Code::InvalidArgument);
    assert_eq!(ask(GetRequest { r#type: 99, ..of("/ndn") }).await, Code::InvalidArgument);
    assert_eq!(ask(GetRequest { path: vec![path("/ndn"); 200], ..of("/ndn") }).await, Code::ResourceExhausted);
    let model = ndnweir_control::proto::gnmi::ModelData { name: "openconfig-interfaces".into(), ..Default::default() };
    assert_eq!(ask(GetRequest { use_models: vec![model], ..of("/ndn") }).await, Code::Unimplemented);
    let huge = "x".repeat(5 << 20);
    let large = ask(of(&format!("/ndn/fib/entry[prefix={huge}]"))).await;
    assert!(matches!(large, Code::OutOfRange | Code::ResourceExhausted), "{large:?}");
    assert!(client.get(of("/ndn")).await.is_ok(), "the agent goes on");
}

/// A certificate of the authority in a folder that has ended an hour ago.
fn expired(folder: &std::path::Path, who: &str) {
    use rcgen::{CertificateParams, DnType, Issuer, KeyPair};
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.distinguished_name.push(DnType::CommonName, "ndnweir authority");
    let issuer = Issuer::new(authority, KeyPair::from_pem(&read("authority-key.pem")).unwrap());
    let hours = |hours: u64| std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * hours);
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, who);
    (params.not_before, params.not_after) = (hours(48).into(), hours(1).into());
    let pair = KeyPair::generate().unwrap();
    let made = params.signed_by(&pair, &issuer).unwrap();
    std::fs::write(folder.join(format!("{who}.pem")), made.pem()).unwrap();
    std::fs::write(folder.join(format!("{who}-key.pem")), pair.serialize_pem()).unwrap();
}

#[tokio::test]
async fn a_router_whose_certificate_has_ended_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::open(dir.path(), 1).unwrap();
    let host = Host { name: "west".into(), addresses: vec!["127.0.0.1".into()] };
    authority.certify(&host, 1).unwrap();
    expired(dir.path(), "router");
    let [certificate, key, clients] =
        ["router.pem", "router-key.pem", "authority.pem"].map(|file| dir.path().join(file));
    let agent = Agent::secure(Identity { certificate, key, clients, fingerprints: Vec::new() });
    let connected = agent.secure_client(&dir.path().join("authority.pem"), dir.path(), "west").await;
    let error = format!("{:?}", connected.map(drop).unwrap_err());
    assert!(error.contains("Expired"), "{error}");
}

#[tokio::test]
async fn without_a_list_a_certificate_of_the_authority_reads_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::open(dir.path(), 1).unwrap();
    for name in ["router", "other-router"] {
        authority.certify(&Host { name: name.into(), addresses: vec!["127.0.0.1".into()] }, 1).unwrap();
    }
    let [certificate, key, clients] =
        ["router.pem", "router-key.pem", "authority.pem"].map(|file| dir.path().join(file));
    let agent = Agent::secure(Identity { certificate, key, clients, fingerprints: Vec::new() });
    let connected = agent.secure_client(&dir.path().join("authority.pem"), dir.path(), "other-router");
    let mut client = connected.await.unwrap();
    client.capabilities(CapabilityRequest::default()).await.unwrap();
    assert!(!Subscriber::polling(&mut client).await.all().await.unwrap().is_empty());
    let before = agent.costs();
    let face = agent.faces()[0];
    // Neither a change nor a claim to lead, which changes nothing.
    for request in [set(vec![cost(face, 7)]), set(Vec::new())] {
        let refused = client.set(request).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Code::FailedPrecondition,
            "a controller would take PermissionDenied for a later one"
        );
        assert!(refused.message().contains("accept"), "{refused}");
    }
    assert_eq!(agent.costs(), before);
}

#[tokio::test]
async fn only_certificates_of_the_authority_and_of_the_list_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let (good, other) = (dir.path().join("good"), dir.path().join("other"));
    let mut prints = Vec::new();
    for folder in [&good, &other] {
        std::fs::create_dir(folder).unwrap();
        let authority = Authority::open(folder, 1).unwrap();
        for name in ["router", "west", "east"] {
            let host = Host { name: name.into(), addresses: vec!["127.0.0.1".into()] };
            prints.push(authority.certify(&host, 1).unwrap());
        }
    }
    let identity = Identity {
        certificate: good.join("router.pem"),
        key: good.join("router-key.pem"),
        clients: good.join("authority.pem"),
        fingerprints: vec![prints[1].to_uppercase(), prints[4].clone()],
    };
    let agent = Agent::secure(identity);
    let asked = |folder: &std::path::Path, who: &str| {
        let client = agent.secure_client(&good.join("authority.pem"), folder, who);
        async move {
            let mut client = client.await.map_err(|_| Code::Unavailable)?;
            client.capabilities(CapabilityRequest::default()).await.map(drop).map_err(|status| status.code())
        }
    };
    assert_eq!(asked(&good, "west").await, Ok(()));
    assert_eq!(asked(&good, "east").await, Err(Code::PermissionDenied), "not in the list");
    let stranger = asked(&other, "west").await;
    // The agent ends the connection; how the client's library says that is its own.
    assert!(stranger.is_err() && stranger != Err(Code::PermissionDenied), "of another authority: {stranger:?}");
    expired(&good, "yesterday");
    let late = asked(&good, "yesterday").await;
    assert!(late.is_err() && late != Err(Code::PermissionDenied), "it has ended: {late:?}");
    let mut plain = agent.client_or_error().await;
    assert!(plain.is_err() || plain.as_mut().unwrap().capabilities(CapabilityRequest::default()).await.is_err());
    // As many as there is room for, and more, that say nothing.
    let mut client = agent.secure_client(&good.join("authority.pem"), &good, "west").await.unwrap();
    let mut known = Subscriber::polling(&mut client).await;
    assert!(!known.all().await.unwrap().is_empty());
    let silent: Vec<_> = (0..150).map(|_| std::net::TcpStream::connect(agent.address()).unwrap()).collect();
    assert_eq!(asked(&good, "west").await, Ok(()));
    assert!(!known.poll().await.unwrap().is_empty(), "who is known stays");
    drop(silent);
    assert!(Agent::try_unprotected("192.0.2.1:0").is_err(), "off loopback nobody is trusted unproven");
}
