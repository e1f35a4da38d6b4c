//! `zhulu serve` from the outside: it starts, says where and how to sign in, takes an upload, is harvested, and stops.
//! Only on Unix, because of how it is told to stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, Run};

/// A server under test; it is killed if the test fails before stopping it.
struct Server {
    child: Child,
    host: String,
    /// The token of the sign-in link, on the first start.
    token: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(place: &Place) -> Server {
    let mut child = place
        .command()
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = std::sync::mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    // Read to the end in the background: a full pipe would stop the server.
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    let line = |what: &str| loop {
        let line = lines.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("no line with {what}"));
        if line.contains(what) {
            return line;
        }
    };
    let serving = line("serving");
    let host = serving.split("http://").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let mut server = Server { child, host, token: None };
    if let Ok(line) = lines.recv_timeout(Duration::from_secs(1))
        && line.contains("first start")
    {
        let link = lines.recv_timeout(Duration::from_secs(5)).unwrap();
        server.token = link.split("token=").nth(1).map(|token| token.trim().to_owned());
    }
    server
}

impl Server {
    fn request(&self, head: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n",
            self.host
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        self.request(&format!("GET {path}"), b"")
    }

    /// Tells it to stop, as a service manager would, and waits.
    fn stop(mut self) -> (Option<i32>, String) {
        let status = std::process::Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_first_start_to_the_end() {
    let place = Place::new();
    let server = start(&place);
    let token = server.token.clone().expect("the first start prints a link to sign in");
    assert!(server.get("/healthz").contains("200 OK"));
    until("readiness", || server.get("/readyz").contains("200 OK"));
    assert!(server.get("/oai?verb=Identify").contains("<repositoryName>"));
    assert!(server.get("/metrics").contains("zhulu_"));
    let signed_in = server.get(&format!("/sign-in?token={token}"));
    assert!(signed_in.to_lowercase().contains("set-cookie: zhulu_session"), "{signed_in}");

    // A file is added by the command line while the server runs; the server's index and protocols show it.
    place.write("论文.txt", "基于规则的元数据自动抽取研究\n");
    place.ok(["add", "论文.txt"]);
    until("the portal's finding it", || server.get("/search?q=%E6%8A%BD%E5%8F%96").contains("基于规则的"));
    let base = format!("http://{}/oai", server.host);
    let harvested = place.ok(["harvest", &base, "--allow", "127.0.0.1"]);
    assert_eq!(harvested.lines().count(), 1, "{harvested}");
    let line: serde_json::Value = serde_json::from_str(harvested.trim()).unwrap();
    assert!(line["metadata"].as_str().unwrap().contains("元数据自动抽取"), "{line}");
    let copied = place.ok(["--catalogue", "sqlite:copy.sqlite", "add", &base, "--allow", "127.0.0.1"]);
    assert!(copied.contains("created"), "{copied}");

    // An upload needs the token, becomes a job, and the worker in the server reads it.
    let upload = |authorization: &str| {
        let head = format!("POST /api/v1/files?name=%E4%B8%8A%E4%BC%A0.txt HTTP/1.1\r\n{authorization}x-rest:");
        server.request(&head, "An uploaded report about 鹿\n".as_bytes())
    };
    assert!(upload("").starts_with("HTTP/1.1 401"));
    assert!(upload(&format!("authorization: Bearer {token}\r\n")).starts_with("HTTP/1.1 202"));
    until("the worker's reading it", || server.get("/search?q=%E9%B9%BF").contains("uploaded report"));

    // The port is taken: a second server says so and goes.
    let run: Run = place.run(["serve", "--listen", &server.host]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains(&server.host), "{}", run.stderr);

    let (code, stdout) = server.stop();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "standard output is for data, and there is none");

    let again = start(&place);
    assert_eq!(again.token, None, "the link is printed once");
    let cookie = signed_in.lines().find(|line| line.to_lowercase().starts_with("set-cookie: zhulu_session")).unwrap();
    let cookie = cookie.split_once(": ").unwrap().1.split(';').next().unwrap().to_owned();
    let page = again.request(&format!("GET /add HTTP/1.1\r\ncookie: {cookie}\r\nx-rest:"), b"");
    assert!(page.starts_with("HTTP/1.1 200"), "a session outlives a restart: {page}");
    again.stop();
}
