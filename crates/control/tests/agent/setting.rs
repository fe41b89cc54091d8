//! Set: transactions, elections, commits.

use crate::support::{Agent, cost, path, set};
use ndnweir_control::proto::gnmi::{SetRequest, TypedValue, Update, typed_value};
use ndnweir_control::proto::gnmi_ext::commit::Action;
use ndnweir_control::proto::gnmi_ext::{
    Commit, CommitCancel, CommitConfirm, CommitRequest, CommitSetRollbackDuration, Extension, MasterArbitration,
    Uint128, extension::Ext,
};
use std::time::Duration;
use tonic::Code;

#[tokio::test]
async fn costs_of_a_prefix_change_together_or_not_at_all() {
    let agent = Agent::start();
    let [a, b] = agent.faces();
    let mut client = agent.client().await;
    let reported = client.set(set(vec![cost(a, 7), cost(b, 3)])).await.unwrap().into_inner();
    assert_eq!((reported.response.len(), agent.costs()), (2, vec![7, 3]));
    let half = client.set(set(vec![cost(a, 1), cost(b, 1), cost(9999, 1)])).await.unwrap_err();
    assert!(half.code() == Code::NotFound && half.message().contains("nothing has changed"), "{half}");
    assert_eq!(agent.costs(), [7, 3]);
    let strategy = Update {
        path: Some(path("/ndn/strategies/strategy[prefix=|a]/config/name")),
        val: Some(TypedValue { value: Some(typed_value::Value::StringVal("no-such".into())) }),
        ..Update::default()
    };
    assert_eq!(client.set(set(vec![cost(a, 1), strategy])).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(agent.costs(), [7, 3]);
    let delete = SetRequest { delete: vec![path("/ndn/fib/entry[prefix=|a]")], ..SetRequest::default() };
    client.set(delete).await.unwrap();
    assert_eq!(agent.costs(), [0, 0], "the costs of the routes");
}

#[tokio::test]
async fn the_client_with_the_highest_election_is_obeyed() {
    let agent = Agent::start();
    let [a, _] = agent.faces();
    let client = agent.client().await;
    let set_with = |low, value| {
        let election_id = Some(Uint128 { high: 0, low });
        let ext = Some(Ext::MasterArbitration(MasterArbitration { role: None, election_id }));
        let request = SetRequest { extension: vec![Extension { ext }], ..set(vec![cost(a, value)]) };
        let mut client = client.clone();
        async move { client.set(request).await.map(drop).map_err(|status| (status.code(), status.message().to_owned())) }
    };
    assert_eq!(set_with(5, 1).await, Ok(()));
    assert_eq!(set_with(6, 2).await, Ok(()));
    let (code, message) = set_with(5, 3).await.unwrap_err();
    assert!(code == Code::PermissionDenied && message.contains('6'), "{message}");
    assert_eq!(agent.costs()[0], 2);
}

fn commit(id: &str, action: Action) -> Vec<Extension> {
    vec![Extension { ext: Some(Ext::Commit(Commit { id: id.into(), action: Some(action) })) }]
}

fn begin(nanos: i32) -> Action {
    let rollback_duration = Some(prost_types::Duration { seconds: 0, nanos });
    Action::Commit(CommitRequest { rollback_duration })
}

#[tokio::test]
async fn a_commit_is_taken_back_unless_it_is_confirmed_in_time() {
    let agent = Agent::start();
    let [a, _] = agent.faces();
    let client = agent.client().await;
    let send = |update: Vec<Update>, extension| {
        let mut client = client.clone();
        async move {
            let request = SetRequest { extension, ..set(update) };
            client.set(request).await.map(drop).map_err(|status| status.code())
        }
    };
    assert_eq!(send(vec![cost(a, 9)], commit("1", begin(200_000_000))).await, Ok(()));
    assert_eq!(agent.costs()[0], 9);
    assert_eq!(send(vec![cost(a, 5)], vec![]).await, Err(Code::FailedPrecondition), "one at a time");
    assert_eq!(send(vec![], commit("2", Action::Confirm(CommitConfirm {}))).await, Err(Code::InvalidArgument));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(agent.costs()[0], 0, "nobody confirmed it");
    assert_eq!(
        send(vec![], commit("1", Action::Confirm(CommitConfirm {}))).await,
        Err(Code::FailedPrecondition),
        "it is over"
    );
    assert_eq!(send(vec![cost(a, 8)], commit("3", begin(300_000_000))).await, Ok(()));
    assert_eq!(
        send(vec![cost(a, 1)], commit("3", Action::Confirm(CommitConfirm {}))).await,
        Err(Code::InvalidArgument)
    );
    assert_eq!(send(vec![], commit("3", Action::Confirm(CommitConfirm {}))).await, Ok(()));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(agent.costs()[0], 8, "confirmed");
    assert_eq!(send(vec![cost(a, 2)], commit("4", begin(300_000_000))).await, Ok(()));
    let rollback_duration = Some(prost_types::Duration { seconds: 60, nanos: 0 });
    let longer = Action::SetRollbackDuration(CommitSetRollbackDuration { rollback_duration });
    assert_eq!(send(vec![], commit("4", longer)).await, Ok(()));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(agent.costs()[0], 2, "there is more time");
    assert_eq!(send(vec![], commit("4", Action::Cancel(CommitCancel {}))).await, Ok(()));
    assert_eq!(agent.costs()[0], 8);
    assert_eq!(send(vec![], commit("", begin(1))).await, Err(Code::InvalidArgument));
    let none = Action::SetRollbackDuration(CommitSetRollbackDuration { rollback_duration: None });
    assert_eq!(send(vec![], commit("9", none)).await, Err(Code::FailedPrecondition));
}
