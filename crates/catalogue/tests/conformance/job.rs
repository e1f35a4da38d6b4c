//! Jobs: leased once, acknowledged once, retried with back-off, dead in the end; polite to each host.

use std::time::Duration;

use zhulu_catalogue::{JobState, JobStats, Lease, NewJob};

use crate::place::Place;

crate::on_both_stores!(
    a_job_is_given_to_one_worker_and_done_once,
    failures_wait_longer_and_longer_and_end,
    a_lease_that_runs_out_is_given_to_another,
    hosts_are_not_crowded_and_do_not_hide_each_other,
    workers_side_by_side_share_the_jobs,
    a_name_is_queued_once,
);

fn job(host: &str) -> NewJob {
    NewJob { host: host.to_owned(), ..NewJob::new("fetch", serde_json::json!({"地址": host})) }
}

fn lease(limit: usize) -> Lease {
    Lease { kinds: Vec::new(), limit, duration: Duration::from_secs(60), per_host: 2 }
}

async fn a_job_is_given_to_one_worker_and_done_once(place: Place) {
    let catalogue = place.open().await;
    let store = catalogue.store();
    let later =
        NewJob { run_at: Some(jiff::Timestamp::from_millisecond(crate::place::START + 5000).unwrap()), ..job("") };
    let ids = store.enqueue(&[job(""), later]).await.unwrap();
    let leased = store.lease(&lease(10)).await.unwrap();
    assert_eq!(leased.iter().map(|job| Some(job.id)).collect::<Vec<_>>(), [ids[0]], "the other is not due");
    assert_eq!((leased[0].attempts, &leased[0].payload), (1, &serde_json::json!({"地址": ""})));
    assert!(store.lease(&lease(10)).await.unwrap().is_empty());
    assert_eq!(store.job_stats().await.unwrap(), JobStats { ready: 1, leased: 1, dead: 0 });
    assert_eq!(store.job(leased[0].id).await.unwrap().unwrap().state, JobState::Leased);
    assert_eq!(store.acknowledge(&leased).await.unwrap(), [true]);
    assert_eq!(store.acknowledge(&leased).await.unwrap(), [false]);
    assert_eq!(store.job(leased[0].id).await.unwrap(), None);
    place.pass(5000);
    let of_kind = Lease { kinds: vec!["other".into()], ..lease(10) };
    assert!(store.lease(&of_kind).await.unwrap().is_empty());
    let leased = store.lease(&lease(10)).await.unwrap();
    assert_eq!(leased.len(), 1);
    store.give_back(&leased).await.unwrap();
    assert_eq!(store.lease(&lease(10)).await.unwrap()[0].attempts, 1, "given back as if never taken");
}

async fn failures_wait_longer_and_longer_and_end(place: Place) {
    let catalogue = place.open().await;
    let store = catalogue.store();
    let id = store.enqueue(&[job("")]).await.unwrap()[0].unwrap();
    let mut waited = Vec::new();
    loop {
        let mut seconds = 0;
        let leased = loop {
            match store.lease(&lease(1)).await.unwrap().pop() {
                Some(job) => break job,
                None => {
                    seconds += 5;
                    place.pass(5000);
                }
            }
        };
        waited.push(seconds);
        match store.fail(&leased, "主机没有回答").await.unwrap() {
            Some(JobState::Ready) => {}
            Some(JobState::Dead) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(waited, [0, 5, 10, 20, 40, 80, 160, 320, 640, 1280]);
    let dead = store.jobs(JobState::Dead, 10).await.unwrap();
    assert_eq!((dead[0].id, dead[0].error.as_deref()), (id, Some("主机没有回答")));
    assert!(store.revive(id).await.unwrap());
    assert!(!store.revive(id).await.unwrap());
    assert_eq!(store.lease(&lease(1)).await.unwrap()[0].attempts, 1);
}

async fn a_lease_that_runs_out_is_given_to_another(place: Place) {
    let catalogue = place.open().await;
    let store = catalogue.store();
    store.enqueue(&[job("h")]).await.unwrap();
    let first = store.lease(&lease(1)).await.unwrap();
    place.pass(61_000);
    let second = store.lease(&lease(1)).await.unwrap();
    assert_eq!(second.len(), 1);
    assert_eq!(store.acknowledge(&first).await.unwrap(), [false], "no longer the first worker's");
    assert_eq!(store.fail(&first[0], "late").await.unwrap(), None);
    assert_eq!(store.acknowledge(&second).await.unwrap(), [true]);
    // A job that takes its worker down every time ends as dead, not as an endless loop.
    store.enqueue(&[job("h")]).await.unwrap();
    for _ in 0..10 {
        assert_eq!(store.lease(&lease(1)).await.unwrap().len(), 1);
        place.pass(61_000);
    }
    assert!(store.lease(&lease(1)).await.unwrap().is_empty());
    assert_eq!(store.job_stats().await.unwrap().dead, 1);
}

async fn hosts_are_not_crowded_and_do_not_hide_each_other(place: Place) {
    let catalogue = place.open().await;
    let store = catalogue.store();
    let mut jobs = vec![job("busy.example"); 50];
    jobs.extend([job("quiet.example"), job(""), job(""), job("")]);
    store.enqueue(&jobs).await.unwrap();
    let leased = store.lease(&lease(10)).await.unwrap();
    let of = |host: &str| leased.iter().filter(|job| job.host == host).count();
    assert_eq!((of("busy.example"), of("quiet.example"), of("")), (2, 1, 3));
    assert!(store.lease(&lease(10)).await.unwrap().is_empty(), "the busy host has its two");
    let busy: Vec<_> = leased.iter().filter(|job| job.host == "busy.example").cloned().collect();
    store.acknowledge(&busy[..1]).await.unwrap();
    assert_eq!(store.lease(&lease(10)).await.unwrap().len(), 1);
}

async fn workers_side_by_side_share_the_jobs(place: Place) {
    let catalogue = place.open().await;
    catalogue.store().enqueue(&vec![job(""); 200]).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let catalogue = catalogue.clone();
        workers.spawn(async move {
            let mut done = Vec::new();
            loop {
                let leased = catalogue.store().lease(&lease(7)).await.unwrap();
                if leased.is_empty() {
                    return done;
                }
                assert!(catalogue.store().acknowledge(&leased).await.unwrap().into_iter().all(|mine| mine));
                done.extend(leased.into_iter().map(|job| job.id));
            }
        });
    }
    let mut done = workers.join_all().await.concat();
    done.sort_unstable();
    done.dedup();
    assert_eq!(done.len(), 200);
}

async fn a_name_is_queued_once(place: Place) {
    let catalogue = place.open().await;
    let store = catalogue.store();
    let named = NewJob { unique: Some("harvest 甲".into()), ..job("") };
    assert!(store.enqueue(std::slice::from_ref(&named)).await.unwrap()[0].is_some());
    assert_eq!(store.enqueue(&[named.clone(), named.clone()]).await.unwrap(), [None, None]);
    let leased = store.lease(&lease(1)).await.unwrap();
    assert_eq!(store.enqueue(std::slice::from_ref(&named)).await.unwrap(), [None], "also while it runs");
    store.acknowledge(&leased).await.unwrap();
    assert!(store.enqueue(&[named]).await.unwrap()[0].is_some());
}
