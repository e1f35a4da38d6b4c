//! Which signatures are used: those a flag names, those the person installed, or those that ship with the program.

use std::fs;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use zhulu_document::pronom::{Error, Identifier};

use crate::exit::usage;
use crate::output::{Output, say};
use crate::place;

/// In the folder of installed signatures: what was installed, as it came, and both together in the compact form.
const SIGNATURES: &str = "signatures.xml";
const CONTAINERS: &str = "containers.xml";
const COMPACT: &str = "signatures.bin";

/// Signatures, and where they come from.
pub(super) struct Ready {
    identifier: Kept,
    from: String,
}

enum Kept {
    BuiltIn(&'static Identifier),
    Own(Box<Identifier>),
}

impl Deref for Ready {
    type Target = Identifier;

    fn deref(&self) -> &Identifier {
        match &self.identifier {
            Kept::BuiltIn(identifier) => identifier,
            Kept::Own(identifier) => identifier,
        }
    }
}

/// The signatures to use.
pub(super) fn choose(signatures: Option<&Path>, containers: Option<&Path>) -> anyhow::Result<Ready> {
    if signatures.is_some() || containers.is_some() {
        let names: Vec<String> =
            [signatures, containers].into_iter().flatten().map(|path| path.display().to_string()).collect();
        let (signatures, containers) = (signatures.map(read).transpose()?, containers.map(read).transpose()?);
        let identifier = compile(signatures.as_deref(), containers.as_deref(), &names.join(" and "))?;
        return Ok(Ready { identifier: Kept::Own(Box::new(identifier)), from: names.join(" and ") });
    }
    if let Some(folder) = folder().filter(|folder| folder.join(COMPACT).exists()) {
        match installed(&folder) {
            Ok(identifier) => {
                let from = folder.display().to_string();
                return Ok(Ready { identifier: Kept::Own(Box::new(identifier)), from });
            }
            Err(error) => say(&format!("the installed signatures cannot be used, the built-in ones are: {error:#}")),
        }
    }
    Ok(Ready { identifier: Kept::BuiltIn(Identifier::built_in()), from: "built in".to_owned() })
}

/// Says which signatures are in use.
pub(super) fn show(ready: &Ready, output: &mut Output) -> io::Result<()> {
    let release = ready.release();
    let (formats, signatures, containers) = release.counts;
    output.line(&format!("PRONOM signature file {}, made {}", release.version, release.created))?;
    output.line(&format!("container signature file {}", release.container_version))?;
    output.line(&format!("{formats} formats, {signatures} signatures, {containers} container signatures"))?;
    output.line(&format!("from: {}", ready.from))
}

/// Keeps signature files in the user's data folder, checked and compiled.
pub(super) fn install(files: &[PathBuf]) -> anyhow::Result<()> {
    let folder = folder().ok_or_else(|| usage("there is no folder to keep signatures in: HOME is not set"))?;
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let kept = |name: &str| fs::read(folder.join(name)).ok();
    let (mut signatures, mut containers) = (kept(SIGNATURES), kept(CONTAINERS));
    let mut changed = Vec::new();
    for path in files {
        let bytes = read(path)?;
        // Which of the two it is, the file itself says.
        match Identifier::from_xml(Some(&bytes), None) {
            Ok(_) => {
                signatures = Some(bytes.clone());
                changed.push((SIGNATURES, bytes));
            }
            Err(Error::Kind { .. }) => {
                let name = path.display().to_string();
                match Identifier::from_xml(None, Some(&bytes)) {
                    Ok(_) => {}
                    Err(Error::Kind { .. }) => {
                        return Err(usage(format!(
                            "{name} is neither a signature file nor a container signature file of DROID"
                        )));
                    }
                    Err(error) => return Err(refused(&name, &error)),
                }
                containers = Some(bytes.clone());
                changed.push((CONTAINERS, bytes));
            }
            Err(error) => return Err(refused(&path.display().to_string(), &error)),
        }
    }
    let identifier = compile(signatures.as_deref(), containers.as_deref(), "what is installed")?;
    for (name, bytes) in changed {
        replace(&folder.join(name), &bytes)?;
    }
    replace(&folder.join(COMPACT), &identifier.compact())
}

fn installed(folder: &Path) -> anyhow::Result<Identifier> {
    if let Some(identifier) = Identifier::from_compact(&fs::read(folder.join(COMPACT))?) {
        return Ok(identifier);
    }
    // Another version of the program compiled them.
    let (signatures, containers) = (fs::read(folder.join(SIGNATURES)).ok(), fs::read(folder.join(CONTAINERS)).ok());
    let identifier = compile(signatures.as_deref(), containers.as_deref(), &folder.display().to_string())?;
    // Not being able to keep them only costs time.
    let _ = replace(&folder.join(COMPACT), &identifier.compact());
    Ok(identifier)
}

fn folder() -> Option<PathBuf> {
    place::data_folder().map(|folder| folder.join("signatures"))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).map_err(|error| usage(format!("the signature file {} cannot be read: {error}", path.display())))
}

fn compile(signatures: Option<&[u8]>, containers: Option<&[u8]>, name: &str) -> anyhow::Result<Identifier> {
    Identifier::from_xml(signatures, containers).map_err(|error| refused(name, &error))
}

fn refused(name: &str, error: &Error) -> anyhow::Error {
    usage(format!("{name}: {error}; give a signature file as The National Archives publish it for DROID"))
}

/// Writes aside and renames, so that a reader sees the old file or the new one.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let aside = path.with_extension("new");
    let written = fs::File::create(&aside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)
    });
    written.with_context(|| format!("{} cannot be written", path.display()))
}
