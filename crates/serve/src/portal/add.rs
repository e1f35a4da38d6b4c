//! Adding documents: the upload form, the samples of an empty catalogue, and how far their reading has come.

use std::path::{Path, PathBuf};

use axum::extract::{Multipart, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde_json::json;
use zhulu_catalogue::{JobId, JobState, NewJob};
use zhulu_record::{Digest, Key, RecordId};

use super::{Visit, framed, shell};
use crate::failure::Failure;
use crate::language::Words;
use crate::session::Person;
use crate::{Site, SiteState, address, upload};

/// More samples than this are no samples.
const SAMPLES: usize = 200;

pub(super) async fn page(State(site): SiteState, visit: Visit) -> Markup {
    let words = visit.words;
    let limit = site.config().upload_limit >> 20;
    let body = html! {
        section.narrow {
            h1 { (words.say("add-title")) }
            p { (words.say("add-explained")) }
            @if visit.person.is_some() {
                form.upload method="post" action="/add" enctype="multipart/form-data" data-upload {
                    label.drop for="files" {
                        strong { (words.say("add-drop")) }
                        span.quiet { (words.say("add-choose")) }
                        input #files type="file" name="files" multiple required;
                    }
                    ul.plain.chosen-files aria-live="polite" {}
                    button.primary { (words.say("add-button")) }
                    p.quiet { (words.with("add-limit", &[("n", limit.into())])) }
                }
            } @else {
                p.notice { (words.say("needs-sign-in")) " " a href="/sign-in?next=/add" { (words.say("sign-in")) } }
            }
            h2 { (words.say("add-otherwise")) }
            pre { code { "zhulu add report.pdf documents/\ncurl -H 'Authorization: Bearer TOKEN' -F file=@report.pdf " (visit.base) "/api/v1/files" } }
        }
    };
    shell(&visit, &words.say("add-title"), &body)
}

pub(super) async fn submit(State(site): SiteState, _: Person, form: Multipart) -> Result<Redirect, Failure> {
    let queued = upload::take_all(&site, form).await?;
    let steps: Vec<Step> =
        queued.into_iter().map(|queued| Step { job: queued.job, blob: Some(queued.blob), name: queued.name }).collect();
    Ok(Redirect::to(&to_address(&steps)))
}

/// Queues the sample documents.
pub(super) async fn samples(State(site): SiteState, _: Person) -> Result<Redirect, Failure> {
    let missing = || Failure::missing("this server has no sample documents");
    let folder = site.config().samples.clone().ok_or_else(missing)?;
    let paths = tokio::task::spawn_blocking(move || files(&folder)).await.ok().flatten().ok_or_else(missing)?;
    let jobs: Vec<NewJob> = paths
        .iter()
        .map(|path| {
            let payload = json!({ "path": path });
            NewJob { unique: Some(format!("path:{}", path.display())), ..NewJob::new("path", payload) }
        })
        .collect();
    let ids = site.catalogue().store().enqueue(&jobs).await?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let steps: Vec<Step> =
        ids.into_iter().zip(&paths).map(|(job, path)| Step { job, blob: None, name: name(path) }).collect();
    Ok(Redirect::to(&to_address(&steps)))
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Option<Vec<PathBuf>> {
    // Whole paths: the worker that reads them may run in another folder.
    let folder = std::path::absolute(folder).ok()?;
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    // Notes about the samples are not samples.
    let is_sample = |path: &PathBuf| {
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        path.is_file() && !hidden && path.extension().is_none_or(|extension| extension != "md" && extension != "toml")
    };
    paths.retain(is_sample);
    paths.sort();
    paths.truncate(SAMPLES);
    (!paths.is_empty()).then_some(paths)
}

/// One file on its way. The address of the progress page holds these, so no server has to remember who uploaded what.
struct Step {
    job: Option<JobId>,
    blob: Option<Digest>,
    name: String,
}

fn to_address(steps: &[Step]) -> String {
    let steps: Vec<String> = steps
        .iter()
        .map(|step| {
            let job = step.job.map_or(String::new(), |job| job.0.to_string());
            let blob = step.blob.map_or(String::new(), |blob| blob.to_string());
            format!("{job}.{blob}.{}", step.name)
        })
        .collect();
    address::with_arguments("/add/progress", steps.iter().map(|step| ("file", step.as_str())))
}

fn from_arguments(arguments: &[(String, String)]) -> Vec<Step> {
    let step = |text: &str| {
        let mut parts = text.splitn(3, '.');
        let job = parts.next()?.parse().ok().map(JobId);
        let blob = parts.next()?.parse().ok();
        Some(Step { job, blob, name: parts.next()?.to_owned() })
    };
    arguments.iter().filter(|(name, _)| name == "file").filter_map(|(_, text)| step(text)).take(SAMPLES).collect()
}

enum Stage {
    Waiting,
    Working,
    Failed,
    Done(Option<RecordId>),
}

async fn stage(site: &Site, step: &Step) -> Result<Stage, Failure> {
    let store = site.catalogue().store();
    let job = match step.job {
        Some(id) => store.job(id).await?,
        None => None,
    };
    if let Some(job) = job {
        return Ok(match job.state {
            JobState::Dead => Stage::Failed,
            JobState::Leased => Stage::Working,
            JobState::Ready if job.attempts > 0 => Stage::Working,
            JobState::Ready => Stage::Waiting,
        });
    }
    let record = match step.blob {
        Some(blob) => store.by_key(&Key::File(blob)).await?,
        None => None,
    };
    // Queued under another job's number: done when its record is there.
    if step.job.is_none() && step.blob.is_some() && record.is_none() {
        return Ok(Stage::Working);
    }
    Ok(Stage::Done(record))
}

pub(super) async fn progress(State(site): SiteState, visit: Visit) -> Result<Markup, Failure> {
    let words = visit.words;
    let steps = from_arguments(&visit.arguments);
    let mut stages = Vec::with_capacity(steps.len());
    for step in &steps {
        stages.push(stage(&site, step).await?);
    }
    let done = stages.iter().filter(|stage| matches!(stage, Stage::Done(_) | Stage::Failed)).count();
    let over = done == stages.len();
    let body = html! {
        section.narrow #progress data-progress=[(!over).then_some("")] {
            h1 { @if over { (words.say("progress-over")) } @else { (words.say("progress-title")) } }
            p role="status" { (words.with("progress-count", &[("done", done.into()), ("n", stages.len().into())])) }
            ul.steps { @for (step, stage) in steps.iter().zip(&stages) { li { (line(words, step, stage)) } } }
            @if over { p.actions { a.button href="/" { (words.say("back-home")) } a.button href="/add" { (words.say("add-more")) } } }
        }
    };
    // Without a script the page asks again by itself.
    let head = html! { @if !over { noscript { meta http-equiv="refresh" content="2"; } } };
    Ok(framed(&visit, &words.say("progress-title"), &head, &body))
}

fn line(words: Words, step: &Step, stage: &Stage) -> Markup {
    html! {
        @match stage {
            Stage::Done(Some(record)) => { a href={ "/record/" (record) } { (step.name) } },
            _ => span { (step.name) },
        }
        @match stage {
            Stage::Waiting => span.tag { (words.say("state-waiting")) },
            Stage::Working => span.tag.busy { (words.say("state-working")) },
            Stage::Failed => span.tag.bad { (words.say("state-failed")) },
            Stage::Done(_) => span.tag.good { (words.say("state-done")) },
        }
    }
}
