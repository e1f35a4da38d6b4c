//! Makes `data/pronom.bin` from DROID's signature file and container signature file:
//! `cargo run -p zhulu-document --example compile_signatures SIGNATURES.xml CONTAINERS.xml OUT.bin`. Says how long the result takes to load.

use std::error::Error;
use std::fs;
use std::time::Instant;

use zhulu_document::pronom::Identifier;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [signatures, containers, out] = paths.as_slice() else {
        return Err("give the signature file, the container signature file and the file to write".into());
    };
    let identifier = Identifier::from_xml(Some(&fs::read(signatures)?), Some(&fs::read(containers)?))?;
    let packed = identifier.compact();
    fs::write(out, &packed)?;
    let begun = Instant::now();
    Identifier::from_compact(&packed).ok_or("what was packed cannot be unpacked")?;
    println!("{:?}: {} bytes, loaded in {:?}", identifier.release(), packed.len(), begun.elapsed());
    Ok(())
}
