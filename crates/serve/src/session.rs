//! Who is asking: bearer tokens, signed-in sessions, and whether a form was sent from our own pages.
//!
//! A token is kept only as its SHA-256. A session is a cookie that names the token it was opened with, signed together with
//! that token's digest: no memory is needed, and withdrawing the token ends its sessions.

use std::sync::Arc;

use axum::Form;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use maud::html;
use serde::Deserialize;
use sha2::Sha256;
use zhulu_catalogue::{Error, TokenRow};
use zhulu_record::Digest;

use crate::failure::Failure;
use crate::portal::{Visit, shell};
use crate::{Site, SiteState, address};

const COOKIE: &str = "zhulu_session";
/// A month: long enough not to be a nuisance, short enough that a forgotten browser is no risk for ever.
const SECONDS: i64 = 30 * 24 * 60 * 60;

pub(crate) fn routes() -> axum::Router<Arc<Site>> {
    axum::Router::new().route("/sign-in", get(form).post(submit)).route("/sign-out", post(sign_out))
}

/// The value of a cookie.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Compares without telling, by the time it takes, how much of the two agrees.
fn same(a: &Digest, b: &Digest) -> bool {
    a.as_bytes().iter().zip(b.as_bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The token with this secret, if there is one.
async fn find_token(site: &Site, secret: &str) -> Result<Option<TokenRow>, Error> {
    let digest = Digest::of(secret.trim().as_bytes());
    let tokens = site.catalogue().store().tokens().await?;
    // All are compared, also after one has fitted.
    let fits = tokens.into_iter().filter(|row| same(&row.digest, &digest)).collect::<Vec<_>>();
    Ok(fits.into_iter().next())
}

fn mac(site: &Site, row: &TokenRow, expiry: i64) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&site.app.secret).expect("HMAC takes keys of any length");
    for part in [&b"session"[..], row.name.as_bytes(), row.digest.as_bytes(), &expiry.to_be_bytes()] {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac
}

fn seal(site: &Site, row: &TokenRow) -> String {
    let expiry = site.now().as_second() + SECONDS;
    let signature = BASE64URL_NOPAD.encode(&mac(site, row, expiry).finalize().into_bytes());
    format!("{}.{expiry}.{signature}", BASE64URL_NOPAD.encode(row.name.as_bytes()))
}

/// Whom a session cookie belongs to.
async fn open(site: &Site, value: &str) -> Result<Option<String>, Error> {
    let mut parts = value.splitn(3, '.');
    let (Some(name), Some(expiry), Some(signature)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(None);
    };
    let decode = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).ok();
    let (Some(name), Ok(expiry), Some(signature)) = (decode(name), expiry.parse::<i64>(), decode(signature)) else {
        return Ok(None);
    };
    if expiry < site.now().as_second() {
        return Ok(None);
    }
    let tokens = site.catalogue().store().tokens().await?;
    let row = tokens.into_iter().find(|row| row.name.as_bytes() == name);
    Ok(row.filter(|row| mac(site, row, expiry).verify_slice(&signature).is_ok()).map(|row| row.name))
}

/// Who is signed in with this browser.
pub(crate) async fn signed_in(site: &Site, headers: &HeaderMap) -> Result<Option<String>, Error> {
    match cookie(headers, COOKIE) {
        Some(value) => open(site, &value).await,
        None => Ok(None),
    }
}

/// Whether the request comes from a page of ours. Browsers name the origin with every form; the cookie, which is never sent
/// from other sites, is the second lock.
fn is_own(site: &Site, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let origin = origin.to_str().unwrap_or_default();
    let bare = |url: &str| url.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default().to_owned());
    let configured = site.config().base_url.as_deref().and_then(bare);
    let hosts = [address::host(headers).map(str::to_owned), configured];
    bare(origin).is_some_and(|origin| hosts.iter().flatten().any(|host| host.eq_ignore_ascii_case(&origin)))
}

/// Someone who may write: the holder of a bearer token, or of a session whose request comes from our own pages.
pub(crate) struct Person(pub(crate) String);

impl FromRequestParts<Arc<Site>> for Person {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Failure> {
        if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
            let value = value.to_str().unwrap_or_default();
            let (scheme, secret) = value.split_once(' ').unwrap_or_default();
            let row = if scheme.eq_ignore_ascii_case("bearer") { find_token(site, secret).await? } else { None };
            return row.map(|row| Person(row.name)).ok_or_else(Failure::unauthorized);
        }
        let person = signed_in(site, &parts.headers).await?.ok_or_else(Failure::unauthorized)?;
        if is_own(site, &parts.headers) { Ok(Person(person)) } else { Err(Failure::foreign_origin()) }
    }
}

#[derive(Deserialize)]
struct SignIn {
    token: Option<String>,
    next: Option<String>,
}

/// The form; with a token in the address, as the first start prints it, the token is used at once.
async fn form(State(site): SiteState, visit: Visit, Query(sign_in): Query<SignIn>) -> Result<Response, Failure> {
    if sign_in.token.is_some() {
        enter(&site, &visit, sign_in).await
    } else {
        Ok(page(&visit, sign_in.next.as_deref(), false))
    }
}

async fn submit(
    State(site): SiteState,
    headers: HeaderMap,
    visit: Visit,
    Form(sign_in): Form<SignIn>,
) -> Result<Response, Failure> {
    // Signing somebody in under another's name is an attack too.
    if !is_own(&site, &headers) {
        return Err(Failure::foreign_origin());
    }
    enter(&site, &visit, sign_in).await
}

async fn enter(site: &Site, visit: &Visit, sign_in: SignIn) -> Result<Response, Failure> {
    let secret = sign_in.token.unwrap_or_default();
    let Some(row) = find_token(site, &secret).await? else { return Ok(page(visit, sign_in.next.as_deref(), true)) };
    // Only to our own pages: an address that begins with two slashes, or a slash and a backslash, leads elsewhere.
    let next = sign_in
        .next
        .filter(|next| next.starts_with('/') && !next[1..].starts_with(['/', '\\']) && !next.contains(['\r', '\n']));
    let mut response = Redirect::to(next.as_deref().unwrap_or("/")).into_response();
    set_cookie(site, &mut response, &seal(site, &row), SECONDS);
    Ok(response)
}

async fn sign_out(State(site): SiteState, _: Person) -> Response {
    let mut response = Redirect::to("/").into_response();
    set_cookie(&site, &mut response, "", 0);
    response
}

fn set_cookie(site: &Site, response: &mut Response, value: &str, seconds: i64) {
    let secure =
        if site.config().base_url.as_deref().is_some_and(|base| base.starts_with("https:")) { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn page(visit: &Visit, next: Option<&str>, wrong: bool) -> Response {
    let words = visit.words;
    let body = html! {
        section.narrow {
            h1 { (words.say("sign-in")) }
            p { (words.say("sign-in-explained")) }
            @if wrong { p.notice.bad role="alert" { (words.say("sign-in-wrong")) } }
            form.stack method="post" action="/sign-in" {
                @if let Some(next) = next { input type="hidden" name="next" value=(next); }
                label for="token" { (words.say("sign-in-token")) }
                input #token type="password" name="token" required autocomplete="current-password" spellcheck="false";
                button.primary { (words.say("sign-in")) }
            }
            p.quiet { (words.say("sign-in-help")) " " code { "zhulu token add NAME" } }
        }
    };
    let status = if wrong { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    (status, shell(visit, &words.say("sign-in"), &body)).into_response()
}
