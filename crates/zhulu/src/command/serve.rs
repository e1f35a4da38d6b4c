//! `zhulu serve`: the portal and every protocol, with a worker and the index beside them in one process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;
use zhulu_catalogue::Catalogue;
use zhulu_gather::work::{WorkSettings, work};
use zhulu_serve::{App, Reader, SiteConfig};

use crate::command::token;
use crate::config::Config;
use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::output::say;
use crate::signal;

/// How long requests under way may go on when the process is told to stop.
const GRACE: Duration = Duration::from_secs(15);

/// The wait before the log is first tidied: a start should be busy with people, not with housekeeping.
const TIDY_DELAY: Duration = Duration::from_secs(10 * 60);

/// The wait before the index is tried again after trouble.
const INDEX_PAUSE: Duration = Duration::from_secs(2);

/// Serve the portal, OAI-PMH, feeds and the API
///
/// Also runs queued work and keeps the search index. The first start makes a token and prints a link to sign in with.
/// An empty catalogue offers the documents of the samples folder. Ctrl-C stops it when requests under way are answered.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu serve
  zhulu serve --listen 0.0.0.0:80
  zhulu --catalogue postgres://zhulu@db/zhulu serve")]
pub(crate) struct Serve {
    /// Listen here; default 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
}

/// Documents, as the portal needs them.
struct Documents;

impl Reader for Documents {
    fn page_image(&self, bytes: &[u8], page: u32, width: u32) -> Option<Vec<u8>> {
        zhulu_document::page_image(bytes, page, width)
    }
}

impl Serve {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let config = context.config();
        let listener = TcpListener::bind(&config.listen).await.map_err(|error| no_listener(&config.listen, &error))?;
        let catalogue = context.catalogue().await?;
        let metrics = zhulu_serve::install_metrics()?;
        let app = App {
            catalogue: catalogue.clone(),
            reader: Arc::new(Documents),
            config: site(config),
            metrics,
            secret: catalogue.store().secret().await?,
            now: Arc::new(Timestamp::now),
        };
        let address = base_url(config, listener.local_addr()?);
        say(&format!("serving {} at {address}; Ctrl-C stops", catalogue.settings().address));
        greet(&catalogue, &address).await?;

        let (stop, stopped) = watch::channel(false);
        let worker = tokio::spawn(work(
            catalogue.clone(),
            WorkSettings { intake: context.intake(), ..WorkSettings::default() },
            told(stopped.clone()),
        ));
        let tidying = tokio::spawn(tidy(catalogue.clone(), config.retention_days));
        let index = tokio::spawn(follow(catalogue));
        let mut server = tokio::spawn(zhulu_serve::run(listener, zhulu_serve::app(app), told(stopped)));
        let served = tokio::select! {
            served = &mut server => Some(served),
            () = signal::stop() => None,
        };
        if served.is_none() {
            say("stopping; requests and jobs under way are finished first (Ctrl-C again ends at once)");
        }
        stop.send_replace(true);
        let ending = async {
            match served {
                Some(served) => served?,
                None => match tokio::time::timeout(GRACE, server).await {
                    Ok(served) => served?,
                    // Somebody holds a connection open without finishing: they were given their time.
                    Err(_) => Ok(()),
                },
            }?;
            worker.await?;
            Ok::<_, anyhow::Error>(())
        };
        tokio::select! {
            result = ending => result?,
            () = signal::stop() => {}
        }
        tidying.abort();
        index.abort();
        Ok(Completion::Done)
    }
}

/// Resolves when the process stops.
async fn told(mut stopped: watch::Receiver<bool>) {
    // The sender lives as long as the command; without it there is nothing left to wait for either.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Keeps the index up with the log for as long as the process lives.
async fn follow(catalogue: Catalogue) {
    loop {
        if let Err(error) = catalogue.follow().await {
            tracing::warn!(%error, "the search index stays behind; trying again");
        }
        tokio::time::sleep(INDEX_PAUSE).await;
    }
}

/// Keeps the log from growing with what machines have long said anew: soon after the start, and then daily.
async fn tidy(catalogue: Catalogue, days: u32) {
    tokio::time::sleep(TIDY_DELAY).await;
    loop {
        match catalogue.compact(Duration::from_secs(u64::from(days) * 24 * 60 * 60)).await {
            Ok(report) => tracing::info!(entries = report.entries, files = report.blobs, "compacted the log"),
            Err(error) => tracing::warn!(%error, "the log could not be compacted; trying again tomorrow"),
        }
        tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    }
}

fn site(config: &Config) -> SiteConfig {
    SiteConfig {
        name: config.name.clone(),
        base_url: config.base_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
        admin_email: config.admin_email.clone(),
        namespace: config.namespace.clone(),
        page_size: config.page_size,
        upload_limit: usize::try_from(config.upload_limit).unwrap_or(usize::MAX),
        samples: Some(config.samples.clone()).filter(|folder| folder.is_dir()),
    }
}

/// On the first start: a token for whoever started it, and the link that signs them in.
async fn greet(catalogue: &Catalogue, address: &str) -> anyhow::Result<()> {
    if !catalogue.store().tokens().await?.is_empty() {
        return Ok(());
    }
    let token = token::make(catalogue, "owner").await?;
    say("this is the first start; sign in to add and edit records:");
    say(&format!("  {address}/sign-in?token={token}"));
    say("the link is shown this once; `zhulu token add NAME` makes more tokens");
    Ok(())
}

/// The address to open in a browser on this machine.
fn base_url(config: &Config, address: SocketAddr) -> String {
    if let Some(url) = &config.base_url {
        return url.trim_end_matches('/').to_owned();
    }
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

fn no_listener(listen: &str, error: &io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program (perhaps another zhulu) listens there; stop it, or choose another port"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need special rights; choose another port",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose another",
        io::ErrorKind::InvalidInput => "write ADDRESS:PORT",
        _ => {
            return usage(format!(
                "cannot listen at {listen}: {error}; write ADDRESS:PORT, as in --listen 127.0.0.1:8090"
            ));
        }
    };
    usage(format!("cannot listen at {listen}: {advice}, as in --listen 127.0.0.1:8090"))
}
