//! The processes under test: started, watched as a supervisor does, and started again when they
//! end.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::clock::JumpingClock;
use crate::driver::Client;
use crate::harness::{Workspace, skip};

const READY_DEADLINE: Duration = Duration::from_secs(120);
const END_DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// One running process.
struct Process {
    role: usize,
    child: Child,
    log: PathBuf,
}

/// All processes of one deployment.
pub struct Fleet {
    name: String,
    workspace: Workspace,
    /// The services of each process; the last one answers over HTTP.
    roles: Vec<&'static str>,
    processes: Vec<Option<Process>>,
    /// Second workers.
    seconds: Vec<Process>,
    port: u16,
    started: usize,
    /// The jumping clock, where there can be one.
    pub clock: Option<JumpingClock>,
    /// Processes that ended without being asked to.
    pub ended_by_themselves: Vec<String>,
}

impl Fleet {
    /// Starts one process for each of the roles.
    pub fn start(name: &str, workspace: Workspace, roles: &[&'static str]) -> Self {
        let clock = JumpingClock::new(workspace.path("").as_path())
            .map_err(|why| skip(&format!("clock jumps: {why}")))
            .ok();
        let processes = roles.iter().map(|_| None).collect();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let roles = roles.to_vec();
        let mut fleet = Self {
            name: name.to_owned(),
            workspace,
            roles,
            processes,
            seconds: Vec::new(),
            port,
            started: 0,
            clock,
            ended_by_themselves: Vec::new(),
        };
        (0..fleet.roles.len()).for_each(|role| fleet.launch(role));
        fleet.wait_until_ready();
        fleet
    }

    /// Number of processes, second workers not counted.
    pub fn size(&self) -> usize {
        self.roles.len()
    }

    /// Services of a process.
    pub fn role(&self, role: usize) -> &'static str {
        self.roles[role]
    }

    /// The process that runs a service.
    pub fn role_of(&self, service: &str) -> usize {
        self.roles
            .iter()
            .position(|services| services.split(',').any(|name| name == service))
            .unwrap()
    }

    /// The folder of log and index where they are embedded.
    pub fn data(&self) -> PathBuf {
        self.workspace.data()
    }

    /// Speaks to the server, wherever it is in its life.
    pub fn client(&self) -> Client {
        Client::new(format!("http://127.0.0.1:{}", self.port))
    }

    /// Starts a process and does not wait for it.
    pub fn launch(&mut self, role: usize) {
        // The server keeps its address; the others answer on any.
        let port = if role == self.role_of("query") {
            self.port
        } else {
            0
        };
        self.processes[role] = Some(self.spawn(role, &format!("127.0.0.1:{port}")));
    }

    /// A second process of the same services, which answers on a port of its own.
    pub fn launch_second(&mut self, role: usize) {
        let process = self.spawn(role, "127.0.0.1:0");
        self.seconds.push(process);
        self.wait_for_second();
    }

    fn spawn(&mut self, role: usize, listen: &str) -> Process {
        self.started += 1;
        let log = self.workspace.path(&format!(
            "{}-{}.log",
            self.started,
            self.roles[role].replace(',', "-")
        ));
        let mut command = self.workspace.command();
        command.args(["run", "--services", self.roles[role], "--listen", listen]);
        if let Some(clock) = &self.clock {
            clock.wind(&mut command);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Written by this process: what limits the other one must not hide what it says.
        let (mut said, mut file) = (child.stderr.take().unwrap(), File::create(&log).unwrap());
        std::thread::spawn(move || std::io::copy(&mut said, &mut file));
        Process { role, child, log }
    }

    /// Starts again what ended by itself; whoever runs this in earnest has a supervisor that does
    /// so.
    pub fn tend(&mut self) {
        for role in 0..self.roles.len() {
            let ended = self.processes[role]
                .as_mut()
                .is_some_and(|process| process.child.try_wait().unwrap().is_some());
            if ended {
                let process = self.processes[role].take().unwrap();
                self.note_end(&process);
                std::thread::sleep(Duration::from_millis(200));
                self.launch(role);
            }
        }
        let (ended, alive): (Vec<_>, Vec<_>) = std::mem::take(&mut self.seconds)
            .into_iter()
            .map(|mut process| (process.child.try_wait().unwrap().is_some(), process))
            .partition(|(ended, _)| *ended);
        self.seconds = alive.into_iter().map(|(_, process)| process).collect();
        ended.iter().for_each(|(_, process)| self.note_end(process));
    }

    fn note_end(&mut self, process: &Process) {
        let text = fs::read_to_string(&process.log).unwrap();
        let last: Vec<&str> = text.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        self.ended_by_themselves.push(format!(
            "{}: {}",
            self.roles[process.role],
            last.join(" | ")
        ));
    }

    /// Waits until all processes work and the server is ready.
    pub fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + READY_DEADLINE;
        let client = self.client();
        loop {
            self.tend();
            let all_run = self.processes.iter().flatten().all(Process::runs);
            let answer = client.get("/health/readyz");
            if all_run && answer.as_ref().is_some_and(|(status, _)| *status == 200) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{}: not ready within {READY_DEADLINE:?}: all run: {all_run}; the server says {answer:?}; {:#?}",
                self.name,
                self.tails()
            );
            std::thread::sleep(POLL);
        }
    }

    fn wait_for_second(&mut self) {
        let deadline = Instant::now() + READY_DEADLINE;
        while !self.seconds.iter().all(Process::runs) {
            assert!(
                Instant::now() < deadline,
                "{}: a second worker is not ready: {:#?}",
                self.name,
                self.tails()
            );
            std::thread::sleep(POLL);
            self.tend();
        }
    }

    /// Sends a signal by name to a process.
    pub fn signal(&self, role: usize, name: &str) {
        if let Some(process) = &self.processes[role] {
            process.signal(name);
        }
    }

    /// The number of a process.
    pub fn process(&self, role: usize) -> u32 {
        self.processes[role]
            .as_ref()
            .map_or(0, |process| process.child.id())
    }

    /// Sets a resource limit of a running process, such as `--fsize=4096:`; false if it is gone by
    /// now.
    pub fn limit(&self, role: usize, limit: &str) -> bool {
        let done = Command::new("prlimit")
            .args(["--pid", &self.process(role).to_string(), limit])
            .output();
        done.is_ok_and(|output| output.status.success())
    }

    /// How many files a process has open.
    pub fn open_files(&self, role: usize) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process(role))).map_or(0, Iterator::count)
    }

    /// Kills a process as a power cut would.
    pub fn kill(&mut self, role: usize) {
        if let Some(mut process) = self.processes[role].take() {
            process.child.kill().unwrap();
            process.child.wait().unwrap();
        }
    }

    /// Ends a process in order.
    pub fn terminate(&mut self, role: usize) {
        if let Some(process) = self.processes[role].take() {
            self.end(process);
        }
    }

    /// Ends all second workers, in order or not.
    pub fn dismiss_seconds(&mut self, kill: bool) {
        for mut process in std::mem::take(&mut self.seconds) {
            if kill {
                process.child.kill().unwrap();
                process.child.wait().unwrap();
            } else {
                self.end(process);
            }
        }
    }

    fn end(&mut self, mut process: Process) {
        process.signal("TERM");
        let deadline = Instant::now() + END_DEADLINE;
        loop {
            if let Some(status) = process.child.try_wait().unwrap() {
                if !status.success() {
                    self.note_end(&process);
                }
                return;
            }
            let tail = || process.tail();
            assert!(
                Instant::now() < deadline,
                "{}: {} did not end: {}",
                self.name,
                self.roles[process.role],
                tail()
            );
            std::thread::sleep(POLL);
        }
    }

    /// Waits, and keeps everything running meanwhile.
    pub fn pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.tend();
            std::thread::sleep(POLL.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Log lines that must not be there.
    pub fn panics(&self) -> Vec<String> {
        let texts = self.logs().into_iter().map(|path| {
            (
                path.clone(),
                fs::read_to_string(path).ok().unwrap_or_default(),
            )
        });
        let panics = texts.filter_map(|(path, text)| {
            let line = text.lines().find(|line| line.contains("panicked"))?;
            Some(format!(
                "{}: {line}",
                path.file_name().unwrap_or_default().to_string_lossy()
            ))
        });
        panics.collect()
    }

    fn logs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.workspace.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .collect()
    }

    fn tails(&self) -> Vec<String> {
        self.processes
            .iter()
            .flatten()
            .chain(&self.seconds)
            .map(Process::tail)
            .collect()
    }

    /// Keeps the logs for those who look for a cause.
    pub fn keep_logs(&self) -> PathBuf {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "chaos-{}-{}",
            self.name,
            std::process::id()
        ));
        fs::create_dir_all(&kept).unwrap();
        for log in self.logs() {
            fs::copy(&log, kept.join(log.file_name().unwrap())).unwrap();
        }
        kept
    }
}

impl Process {
    /// Whether it says so.
    fn runs(&self) -> bool {
        fs::read_to_string(&self.log).is_ok_and(|text| text.contains("tributary runs "))
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }

    fn tail(&self) -> String {
        let text = fs::read_to_string(&self.log).ok().unwrap_or_default();
        let skipped = text.lines().count().saturating_sub(15);
        format!(
            "{}:\n{}",
            self.log.display(),
            text.lines().skip(skipped).collect::<Vec<_>>().join("\n")
        )
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().flatten().chain(&mut self.seconds) {
            process
                .child
                .kill()
                .and_then(|()| process.child.wait().map(drop))
                .ok();
        }
        if std::thread::panicking() {
            eprintln!(
                "chaos {}: the logs of all processes are in {}",
                self.name,
                self.keep_logs().display()
            );
        }
    }
}
