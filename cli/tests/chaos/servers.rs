//! A broker and a node of the test's own, to be killed, started by the scripts of `deploy/services`
//! and always stopped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::finish;

const DEADLINE: std::time::Duration = std::time::Duration::from_secs(240);

/// A server that a script of `deploy/services` runs.
pub struct OwnServer {
    service: String,
    script: PathBuf,
    name: String,
    pub port: u16,
}

impl OwnServer {
    /// Starts a new one on a free port; says why if that is not possible.
    pub fn start(service: &str, name: &str, options: &[&str]) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../deploy/services")
            .join(service);
        let mut server = Self {
            service: service.to_owned(),
            script,
            name: format!("chaos-{name}-{}", std::process::id()),
            port: 0,
        };
        let arguments = [&["--port", "free"], options].concat();
        let address = server.try_command("start", &arguments)?;
        let port = address
            .trim()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        server.port = port.ok_or_else(|| format!("no address in {address:?}"))?;
        Ok(server)
    }

    fn try_command(&self, command: &str, options: &[&str]) -> Result<String, String> {
        let mut script = Command::new(&self.script);
        script
            .arg(command)
            .args(["--name", &self.name])
            .args(options);
        if let Some(folder) = std::env::var_os("TRIBUTARY_SERVICES") {
            script.env("TRIBUTARY_SERVICES_FOLDER", folder);
        }
        let run = finish(script, DEADLINE);
        if run.code == 0 {
            Ok(run.stdout)
        } else {
            Err(format!(
                "{service} {command}: {}",
                run.stderr,
                service = self.script.display()
            ))
        }
    }

    /// The name of its instance.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One of `start`, `stop`, `restart`, `kill`, …
    pub fn command(&self, command: &str) -> String {
        self.try_command(command, &[]).unwrap()
    }

    /// One of Kafka's own tools on this broker.
    pub fn tool(&self, tool: &str, arguments: &[&str]) -> String {
        let mut script = Command::new(&self.script);
        script
            .arg(tool)
            .args(arguments)
            .env("TRIBUTARY_KAFKA_NAME", &self.name);
        if let Some(folder) = std::env::var_os("TRIBUTARY_SERVICES") {
            script.env("TRIBUTARY_SERVICES_FOLDER", folder);
        }
        let run = finish(script, DEADLINE);
        assert_eq!(run.code, 0, "{tool} {arguments:?}: {run:?}");
        run.stdout
    }

    /// Puts its log beside those of the processes: the script takes the instance away with all that
    /// it wrote.
    fn keep_log(&self) -> std::io::Result<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let instances = folder("TRIBUTARY_SERVICES_INSTANCES")
            .or_else(|| Some(folder("TRIBUTARY_SERVICES")?.join("instances")));
        let instances = instances.unwrap_or_else(|| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tributary/services/instances")
        });
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.log", self.name));
        std::fs::copy(
            instances
                .join(format!("{}-{}", self.service, self.name))
                .join("log"),
            &kept,
        )?;
        Ok(kept)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            match self.keep_log() {
                Ok(kept) => eprintln!("chaos: the log of {} is {}", self.name, kept.display()),
                Err(error) => eprintln!("chaos: the log of {} cannot be kept: {error}", self.name),
            }
        }
        if let Err(why) = self.try_command("stop", &["--purge"]) {
            eprintln!("chaos: {why}");
        }
    }
}
