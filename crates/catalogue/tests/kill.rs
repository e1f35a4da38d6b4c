//! Trouble from outside: the process is killed at any moment, the database server goes away, the disk is full. Every
//! acknowledged change is there afterwards, nothing is half-applied, and the index agrees.
//!
//! The process that is killed is this test program itself, started again as a writer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use zhulu_catalogue::{Address, Batch, Catalogue, CursorUpdate, Error, Settings};
use zhulu_record::{Draft, Element, Key, Put, Source, Statement};

/// How often the process is killed on each store; `./test --long` asks for more.
fn kills() -> u64 {
    std::env::var("ZHULU_TEST_KILLS").map_or(8, |text| text.parse().expect("ZHULU_TEST_KILLS is a number"))
}

fn server() -> String {
    std::env::var("ZHULU_TEST_POSTGRES").expect("ZHULU_TEST_POSTGRES names no server; run ./test")
}

/// The drafts of one batch: as many as its number says, all with that number as their title.
fn batch(number: u64) -> Batch {
    let drafts = (0..=number % 5).map(|part| {
        // Some records are new, some are changed again and again.
        let name = if part % 2 == 0 { format!("b{number}p{part}") } else { format!("again{}", number % 50) };
        let statements = vec![Statement::new(Element::TITLE, format!("批 {number}"))];
        let put = Put { keys: vec![Key::Oai(name)], statements, ..Put::default() };
        Draft::put(Source::machine(format!("part{part}")), put).expect("it has a key")
    });
    let cursor = CursorUpdate { source: Source::machine("writer"), cursor: number.to_string() };
    Batch { drafts: drafts.collect(), cursor: Some(cursor), ..Batch::default() }
}

/// Not a test of its own: the process that will be killed. It appends, and says what was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer_process() {
    let (Ok(address), Ok(folder)) = (std::env::var("ZHULU_WRITER_ADDRESS"), std::env::var("ZHULU_WRITER_FOLDER"))
    else {
        return;
    };
    let catalogue = open(&address, Path::new(&folder)).await.unwrap();
    let follower = catalogue.clone();
    tokio::spawn(async move { follower.follow().await });
    let cursor = catalogue.store().sources().await.unwrap().first().and_then(|row| row.cursor.clone());
    let mut number: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
    loop {
        number += 1;
        match catalogue.append(batch(number)).await {
            Ok(_) => println!("acknowledged {number}"),
            Err(reason) => {
                println!("refused {reason}");
                return;
            }
        }
    }
}

async fn open(address: &str, folder: &Path) -> Result<Catalogue, Error> {
    Catalogue::open(Settings { address: address.parse()?, ..Settings::in_folder(folder) }).await
}

fn start_writer(address: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer_process", "--nocapture", "--test-threads=1"])
        .env("ZHULU_WRITER_ADDRESS", address)
        .env("ZHULU_WRITER_FOLDER", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<u64> {
    // The test harness puts its own words before the first.
    line.split("acknowledged ").nth(1)?.trim().parse().ok()
}

/// Checks that batches 1 to some number at or after `last` are wholly there, and nothing of any other.
async fn whole(catalogue: &Catalogue, last: u64) -> u64 {
    let cursor = catalogue.store().sources().await.unwrap().first().and_then(|row| row.cursor.clone());
    let cursor: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
    assert!(cursor >= last, "batch {last} was acknowledged, and the cursor stands at {cursor}");
    let mut entries: BTreeMap<String, u64> = BTreeMap::new();
    let mut after = 0;
    loop {
        let page = catalogue.store().log(after, 5000).await.unwrap();
        let Some(end) = page.last() else { break };
        after = end.seq;
        for logged in page {
            let record = zhulu_record::State::of([&logged.entry]).view(logged.entry.record);
            *entries.entry(record.first(&Element::TITLE).unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(entries.len() as u64, cursor, "as many batches as the cursor says");
    for number in 1..=cursor {
        assert_eq!(entries.get(&format!("批 {number}")), Some(&(number % 5 + 1)), "batch {number} is there whole");
    }
    cursor
}

async fn killed_at_random_moments(address: &str, folder: &Path) {
    // A different moment each time, the same in every run.
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut total = 0;
    for round in 0..kills() {
        let mut writer = start_writer(address, folder);
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let life = Duration::from_millis((state >> 33) % 180);
        let lines = BufReader::new(writer.stdout.take().unwrap());
        let (began, beginning) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let numbers = lines.lines().map_while(Result::ok).filter_map(|line| acknowledged(&line));
            numbers
                .inspect(|_| {
                    // Only the first is waited for.
                    let _ = began.send(());
                })
                .last()
        });
        // Most are killed while they write, however long they took to start; some while they start.
        if round % 10 != 9 {
            beginning.recv_timeout(Duration::from_secs(60)).expect("the writer gets to write");
        }
        std::thread::sleep(life);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let last = reader.join().unwrap().unwrap_or(0);
        let catalogue = open(address, folder).await.unwrap();
        total = whole(&catalogue, last).await;
        assert_eq!(catalogue.verify().await.unwrap(), Vec::<String>::new(), "after kill {round}");
    }
    eprintln!("{} kills, {total} batches", kills());
    assert!(total > kills(), "the writers did get to write");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_nothing_acknowledged_is_lost_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("catalogue.sqlite").display());
    killed_at_random_moments(&address, folder.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_nothing_acknowledged_is_lost_by_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let schema = format!("kill{}", std::process::id());
    let (client, connection) = tokio_postgres::connect(&server(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
    killed_at_random_moments(&format!("{}&options=-csearch_path%3D{schema}", server()), folder.path()).await;
}

fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools").join(name)
}

/// Runs `tools/postgres`; without an installed server there is nothing to run, and `./test` installs one.
fn postgres(action: &str, folder: &Path) -> String {
    let output = Command::new(tool("postgres")).arg(action).arg(folder).output().unwrap();
    assert!(output.status.success(), "tools/postgres {action}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_and_comes_back_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    // Readable by the server's own user.
    let data = std::env::temp_dir().join(format!("zhulu-postgres-{}", std::process::id()));
    let address = postgres("start", &data);
    let catalogue = open(&address, folder.path()).await.unwrap();
    let writer = {
        let catalogue = catalogue.clone();
        tokio::spawn(async move {
            let begun = Instant::now();
            let mut number = 0;
            while begun.elapsed() < Duration::from_secs(6) {
                number += 1;
                catalogue.append(batch(number)).await.expect("it waits for the server");
            }
            number
        })
    };
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        postgres("pause", &data);
        tokio::time::sleep(Duration::from_millis(900)).await;
        postgres("start", &data);
    }
    let last = writer.await.unwrap();
    assert_eq!(whole(&catalogue, last).await, last, "each batch once, though some commits were cut off");
    assert_eq!(catalogue.verify().await.unwrap(), Vec::<String>::new());

    postgres("pause", &data);
    let reason = catalogue.store().head().await.unwrap_err();
    assert!(matches!(reason, Error::Unavailable { .. }), "{reason}");
    postgres("stop", &data);
}

/// On Linux as root a small file system can be made to be filled; elsewhere this cannot be shown.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_and_nothing_is_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("NOT RUN: no right to mount a small file system here");
        return;
    }
    let address = format!("sqlite:{}", folder.path().join("catalogue.sqlite").display());
    let settings = Settings::in_folder(folder.path());
    let catalogue = Catalogue::open(settings.clone()).await.unwrap();
    let mut last = 0;
    let reason = loop {
        match catalogue.append(batch(last + 1)).await {
            Ok(_) => last += 1,
            Err(reason) => break reason,
        }
    };
    assert!(matches!(reason, Error::Full { .. }), "{reason}");
    assert!(reason.to_string().contains("make room"), "{reason}");
    assert!(matches!(settings.address, Address::Sqlite(_)) && last > 10, "{last}");
    let blob = catalogue
        .blobs()
        .put(
            vec![7; 8 << 20]
                .into_iter()
                .enumerate()
                .map(|(i, b)| b ^ (i as u8) ^ ((i * i) >> 7) as u8)
                .collect::<Vec<u8>>()
                .into(),
        )
        .await;
    assert!(matches!(blob, Err(Error::Full { .. })), "{blob:?}");
    drop(catalogue);
    // Room is made, and it goes on from where it was.
    let more = Command::new("mount").args(["-o", "remount,size=64m"]).arg(folder.path()).status().unwrap();
    assert!(more.success());
    let catalogue = open(&address, folder.path()).await.unwrap();
    assert_eq!(whole(&catalogue, last).await, last);
    catalogue.append(batch(last + 1)).await.unwrap();
    assert_eq!(catalogue.verify().await.unwrap(), Vec::<String>::new());
    drop(catalogue);
    // The writer thread may still be closing the file.
    for _ in 0..50 {
        if Command::new("umount").arg(folder.path()).status().unwrap().success() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the small file system stays in use");
}
