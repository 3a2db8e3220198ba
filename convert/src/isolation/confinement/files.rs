//! Files that a confined process may open, by Landlock. Needed is its first version (Linux 5.13):
//! what that one does not know is forbidden by `calls`, or is a second wall (ports, signals and
//! sockets, for which no call is left either). Whatever a newer kernel knows is used.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::{Bounds, ProgramBounds};

/// Without this version nothing is enforced.
const NEEDED: ABI = ABI::V1;
/// The newest version that is made use of.
const NEWEST: ABI = ABI::V9;

/// Where shared libraries and what they read at their start lie.
const SYSTEM: [&str; 8] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/proc/self",
    "/proc/cpuinfo",
    "/sys/devices/system/cpu",
    "/dev/urandom",
];

/// Where programs lie and the libraries that start them.
const PROGRAMS: [&str; 8] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/lib",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
];

/// What another program reads beside: fonts, and settings of both.
const SETTINGS: [&str; 17] = [
    "/usr/share",
    "/usr/local/share/fonts",
    "/var/cache/fontconfig",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/libreoffice",
    "/etc/locale.alias",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/version",
    "/dev/random",
];

/// Files that may be used.
pub(super) struct Files {
    /// Paths, and what may be done at and below each.
    rules: Vec<(PathBuf, BitFlags<AccessFs>)>,
}

/// A converter reads libraries and models, and keeps temporary files in its folder.
pub(super) fn of_worker(bounds: &Bounds) -> Files {
    let mut files = Files::common(&bounds.readable);
    files.allow(
        &bounds.folder,
        AccessFs::ReadFile | AccessFs::ReadDir | plain_files(),
    );
    files
}

/// A program also starts others, none of which lies in its folder, and makes folders there.
pub(super) fn of_program(bounds: &ProgramBounds) -> Files {
    let mut files = Files::common(&bounds.readable);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    SETTINGS
        .iter()
        .for_each(|path| files.allow(Path::new(path), reading));
    let programs = PROGRAMS
        .iter()
        .map(PathBuf::from)
        .chain(bounds.readable.iter().cloned());
    programs.for_each(|path| files.allow(&path, reading | AccessFs::Execute));
    let folders = AccessFs::MakeDir | AccessFs::RemoveDir | AccessFs::Refer;
    files.allow(&bounds.folder, reading | plain_files() | folders);
    files
}

/// No links, pipes, sockets or devices: who looks into such a folder finds files and folders.
fn plain_files() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::RemoveFile | AccessFs::MakeReg | AccessFs::Truncate
}

impl Files {
    fn common(readable: &[PathBuf]) -> Self {
        let mut files = Self { rules: Vec::new() };
        let readable = SYSTEM
            .iter()
            .map(PathBuf::from)
            .chain(readable.iter().cloned());
        readable.for_each(|path| files.allow(&path, AccessFs::ReadFile | AccessFs::ReadDir));
        files.allow(
            Path::new("/dev/null"),
            AccessFs::ReadFile | AccessFs::WriteFile,
        );
        files
    }

    fn allow(&mut self, path: &Path, access: impl Into<BitFlags<AccessFs>>) {
        self.rules.push((path.to_owned(), access.into()));
    }
}

/// Nothing but these for good; says how. Errors: the kernel lacks what is needed.
pub(super) fn restrict(files: &Files) -> Result<String, String> {
    let none = || "this kernel does not have it, or it is switched off".to_owned();
    let enforced = enforce(files).map_err(|error| match error {
        RulesetError::HandleAccesses(_) => none(),
        other => other.to_string(),
    })?;
    let LandlockStatus::Available { effective_abi, .. } = enforced.landlock else {
        return Err(none());
    };
    if enforced.ruleset == RulesetStatus::NotEnforced || !enforced.no_new_privs {
        return Err("this kernel does not enforce it".to_owned());
    }
    Ok(format!(
        "files by Landlock {effective_abi}{}",
        what_else(effective_abi)
    ))
}

/// What newer versions restrict besides.
fn what_else(version: ABI) -> &'static str {
    if version >= ABI::V9 {
        ", with ports, devices, signals and all sockets"
    } else if version >= ABI::V6 {
        ", with ports, devices, signals and abstract sockets"
    } else if version >= ABI::V4 {
        ", with ports"
    } else {
        ""
    }
}

fn enforce(files: &Files) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    files.rules.iter().try_fold(ruleset, allow)?.restrict_self()
}

/// What is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    (path, access): &(PathBuf, BitFlags<AccessFs>),
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(opened) => ruleset.add_rule(PathBeneath::new(opened, *access)),
        Err(_) => Ok(ruleset),
    }
}
