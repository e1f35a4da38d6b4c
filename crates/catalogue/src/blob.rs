//! Blobs: files and responses by the SHA-256 of their content, compressed with zstd, in a folder or in S3.
//!
//! Writing is idempotent and comes before the entry that refers to a blob; reading checks what was read. Which blobs are
//! still wanted is the store's to know.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Name;
use object_store::{ObjectStore, ObjectStoreExt};
use zhulu_record::Digest;

use crate::address::BlobAddress;
use crate::error::Error;

/// Level 3: papers shrink little at any level, and pages and XML shrink well at this one.
const LEVEL: i32 = 3;

/// No blob is larger than this when unpacked: what claims to be is not one of ours.
const LARGEST: u64 = 4 << 30;

/// Where files and responses are kept.
pub struct Blobs {
    address: BlobAddress,
    place: Place,
}

enum Place {
    /// Our own few lines rather than object_store's folder: that one does not wait for the disk.
    Folder(PathBuf),
    S3 {
        store: Arc<dyn ObjectStore>,
        prefix: String,
    },
}

impl Blobs {
    /// Opens the store; a folder is made when it is first written to.
    pub fn open(address: &BlobAddress) -> Result<Blobs, Error> {
        let place = match address {
            BlobAddress::Folder(folder) => Place::Folder(folder.clone()),
            BlobAddress::S3 { bucket, prefix, endpoint, region, credentials } => {
                let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
                }
                if let Some(region) = region {
                    builder = builder.with_region(region);
                }
                if let Some((key, secret)) = credentials {
                    builder = builder.with_access_key_id(key).with_secret_access_key(secret);
                }
                let store = builder.build().map_err(|reason| failed(address, &reason))?;
                Place::S3 { store: Arc::new(store), prefix: prefix.trim_matches('/').to_owned() }
            }
        };
        Ok(Blobs { address: address.clone(), place })
    }

    /// Keeps `bytes`; when this returns they are durable. Keeping the same twice costs little.
    pub async fn put(&self, bytes: Bytes) -> Result<Digest, Error> {
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                self.blocking(move || {
                    let digest = Digest::of(&bytes);
                    let path = path_of(&folder, digest);
                    if !path.exists() {
                        write_aside(&path, &zstd::bulk::compress(&bytes, LEVEL)?)?;
                    }
                    Ok(digest)
                })
                .await
            }
            Place::S3 { store, prefix } => {
                let pack = move || -> io::Result<_> { Ok((Digest::of(&bytes), zstd::bulk::compress(&bytes, LEVEL)?)) };
                let (digest, packed) = self.blocking(pack).await?;
                let name = name_of(prefix, digest);
                match store.head(&name).await {
                    Ok(_) => {}
                    Err(object_store::Error::NotFound { .. }) => {
                        store.put(&name, packed.into()).await.map_err(|reason| failed(&self.address, &reason))?;
                    }
                    Err(reason) => return Err(failed(&self.address, &reason)),
                }
                Ok(digest)
            }
        }
    }

    /// The bytes with this digest, checked against it.
    pub async fn get(&self, digest: Digest) -> Result<Bytes, Error> {
        let packed = match &self.place {
            Place::Folder(folder) => {
                let path = path_of(folder, digest);
                let read = move || match fs::read(&path) {
                    Ok(packed) => Ok(Some(Bytes::from(packed))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error),
                };
                self.blocking(read).await?.ok_or(Error::NoBlob(digest))?
            }
            Place::S3 { store, prefix } => match store.get(&name_of(prefix, digest)).await {
                Ok(found) => found.bytes().await.map_err(|reason| failed(&self.address, &reason))?,
                Err(object_store::Error::NotFound { .. }) => return Err(Error::NoBlob(digest)),
                Err(reason) => return Err(failed(&self.address, &reason)),
            },
        };
        let unpack = move || {
            let mut bytes = Vec::new();
            zstd::Decoder::new(&packed[..])?.take(LARGEST).read_to_end(&mut bytes)?;
            if Digest::of(&bytes) == digest {
                Ok(Bytes::from(bytes))
            } else {
                Err(io::Error::other(format!("the file kept as {digest} has other content")))
            }
        };
        self.blocking(unpack).await
    }

    /// Whether there are such bytes.
    pub async fn has(&self, digest: Digest) -> Result<bool, Error> {
        match &self.place {
            Place::Folder(folder) => {
                let path = path_of(folder, digest);
                self.blocking(move || path.try_exists()).await
            }
            Place::S3 { store, prefix } => match store.head(&name_of(prefix, digest)).await {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(reason) => Err(failed(&self.address, &reason)),
            },
        }
    }

    /// Removes them; whether they were there.
    pub async fn remove(&self, digest: Digest) -> Result<bool, Error> {
        match &self.place {
            Place::Folder(folder) => {
                let path = path_of(folder, digest);
                let remove = move || match fs::remove_file(&path) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                    Err(error) => Err(error),
                };
                self.blocking(remove).await
            }
            Place::S3 { store, prefix } => {
                let there = self.has(digest).await?;
                match store.delete(&name_of(prefix, digest)).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(there),
                    Err(reason) => Err(failed(&self.address, &reason)),
                }
            }
        }
    }

    /// Every blob kept, and how long ago it was written; in no order.
    pub async fn all(&self) -> Result<Vec<(Digest, Duration)>, Error> {
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                self.blocking(move || list(&folder)).await
            }
            Place::S3 { store, prefix } => {
                let prefix = Name::from(prefix.as_str());
                let found: Vec<_> =
                    store.list(Some(&prefix)).try_collect().await.map_err(|reason| failed(&self.address, &reason))?;
                let now = SystemTime::now();
                let blobs = found.iter().filter_map(|meta| {
                    let digest = meta.location.filename()?.parse().ok()?;
                    Some((digest, now.duration_since(meta.last_modified.into()).unwrap_or_default()))
                });
                Ok(blobs.collect())
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let done = tokio::task::spawn_blocking(work).await;
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(reason)) if reason.kind() == io::ErrorKind::StorageFull => {
                Err(Error::Full { catalogue: format!("{:?}", self.address) })
            }
            Ok(Err(reason)) => Err(failed(&self.address, &reason)),
            Err(reason) => Err(failed(&self.address, &reason)),
        }
    }
}

fn failed(address: &BlobAddress, reason: &dyn std::error::Error) -> Error {
    Error::Blob { store: format!("{address:?}"), reason: reason.to_string() }
}

/// Two levels of folders, so that none has more than a few thousand files among a million.
fn path_of(folder: &Path, digest: Digest) -> PathBuf {
    let name = digest.to_string();
    folder.join(&name[..2]).join(name)
}

fn name_of(prefix: &str, digest: Digest) -> Name {
    let name = digest.to_string();
    Name::from_iter(prefix.split('/').filter(|part| !part.is_empty()).chain([&name[..2], &name]))
}

/// Under another name first, then renamed: a file under its digest is always whole.
fn write_aside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("path_of gives one");
    fs::create_dir_all(folder)?;
    let aside = path.with_extension(format!("{}.part", zhulu_record::NodeId::random()));
    let written = (|| {
        let mut file = fs::File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        // The name must survive a loss of power as well as the content. Where a folder cannot be opened (Windows), the
        // file system sees to it.
        if let Ok(folder) = fs::File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

fn list(folder: &Path) -> io::Result<Vec<(Digest, Duration)>> {
    let mut found = Vec::new();
    let shelves = match fs::read_dir(folder) {
        Ok(shelves) => shelves,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for shelf in shelves {
        let shelf = shelf?;
        if !shelf.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(shelf.path())? {
            let file = file?;
            if let Some(digest) = file.file_name().to_str().and_then(|name| name.parse().ok()) {
                let age = file.metadata()?.modified().ok().and_then(|time| time.elapsed().ok());
                found.push((digest, age.unwrap_or_default()));
            }
        }
    }
    Ok(found)
}
