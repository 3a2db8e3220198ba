//! What is attacked: a file, a folder, neighbours, sockets, and this process; and who attacks.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tributary_convert::isolation::{ConversionPool, Launch, WorkFolder};
use tributary_convert::limits::Limits;
use tributary_convert::slides::SlideFormat;
use tributary_convert::slides::office::Office;
use tributary_convert::{Config, Converted, Job};
use tributary_models::ocr::OcrUnavailable;
use tributary_schemas::Result;

use crate::{test_config, tricks};

/// Argument that makes this program a worker.
pub const WORKER: &str = "worker";
/// Argument that makes this program become another one.
pub const PROGRAM: &str = "program";
/// What nobody but this process may read.
pub const SECRET: &str = "what only the server may read";
/// File that the attacking program leaves its tally in, where a drawing is looked for.
pub const DRAWN: &str = "slides.pdf";

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// What the attacker is told: a document of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Targets {
    pub tries: usize,
    /// Names of the tricks that are tried; empty: all.
    pub only: Vec<String>,
    /// What the attacking program leaves as its drawing; empty: the tally of its tricks.
    pub leave: String,
    pub server: i32,
    pub secret: PathBuf,
    pub outside: PathBuf,
    pub neighbours: Vec<PathBuf>,
    pub socket: PathBuf,
    pub datagrams: PathBuf,
    pub abstract_name: String,
    pub port: u16,
}

/// Tries and successes of each trick.
pub type Tally = BTreeMap<String, (usize, usize)>;

/// Everything that must stay untouched.
pub struct Scene {
    pub targets: Targets,
    pub folder: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    hidden: UnixListener,
    datagrams: UnixDatagram,
}

impl Scene {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (secret, outside) = (folder.path().join("secret"), folder.path().join("outside"));
        std::fs::write(&secret, SECRET).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        let (socket, datagrams) = (
            folder.path().join("socket"),
            folder.path().join("datagrams"),
        );
        let abstract_name = format!("tributary-attacks-{}-{port}", std::process::id());
        let hidden =
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap())
                .unwrap();
        let (path, received) = (
            UnixListener::bind(&socket).unwrap(),
            UnixDatagram::bind(&datagrams).unwrap(),
        );
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        path.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();
        received.set_nonblocking(true).unwrap();
        extern "C" fn count(_signal: i32) {
            SIGNALS.fetch_add(1, Ordering::SeqCst);
        }
        for signal in [libc::SIGURG, libc::SIGIO] {
            // SAFETY: the handler does nothing but count.
            unsafe { libc::signal(signal, count as *const () as libc::sighandler_t) };
        }
        let server = i32::try_from(std::process::id()).unwrap();
        let (tries, only, leave, neighbours) = (tries(), vec![], String::new(), vec![]);
        let targets = Targets {
            tries,
            only,
            leave,
            server,
            secret,
            outside,
            neighbours,
            socket,
            datagrams,
            abstract_name,
            port,
        };
        SIGNALS.store(0, Ordering::SeqCst);
        Self {
            targets,
            folder,
            tcp,
            udp,
            path,
            hidden,
            datagrams: received,
        }
    }

    /// The document that says what to attack.
    pub fn document(&self) -> Vec<u8> {
        serde_json::to_vec(&self.targets).unwrap()
    }

    /// Fails if any trick worked, or anything is not as it was.
    pub fn assert_untouched(&self, who: &str, tally: &Tally) {
        let worked: Vec<_> = tally
            .iter()
            .filter(|(_, (_, successes))| *successes > 0)
            .collect();
        assert!(worked.is_empty(), "{who}: {worked:?}");
        assert!(
            tally
                .values()
                .all(|(tries, _)| *tries == self.targets.tries),
            "{who}: {tally:?}"
        );
        assert_eq!(
            std::fs::read_to_string(&self.targets.secret).unwrap(),
            SECRET
        );
        assert_eq!(
            std::fs::read_dir(&self.targets.outside).unwrap().count(),
            0,
            "something was made outside"
        );
        let connected = [
            self.tcp.accept().is_ok(),
            self.path.accept().is_ok(),
            self.hidden.accept().is_ok(),
        ];
        let received = [
            self.udp.recv(&mut [0]).is_ok(),
            self.datagrams.recv(&mut [0]).is_ok(),
        ];
        assert_eq!(
            (connected, received),
            ([false; 3], [false; 2]),
            "{who}: connections, datagrams"
        );
        assert_eq!(SIGNALS.load(Ordering::SeqCst), 0, "{who}: signals");
        println!(
            "{who}: {} tricks, {} tries each, 0 worked",
            tally.len(),
            self.targets.tries
        );
    }
}

fn tries() -> usize {
    std::env::var("TRIBUTARY_ATTACKS")
        .ok()
        .and_then(|tries| tries.parse().ok())
        .unwrap_or(10)
}

pub fn config() -> Config {
    let mut config: Config = test_config::config();
    // A thousand tries of each trick take a while on a busy machine.
    config.conversion_timeout_ms = 300_000;
    config
}

pub fn launch(worker: &str) -> Launch {
    let program = std::env::current_exe().unwrap();
    Launch {
        program,
        arguments: vec![worker.into()],
        program_arguments: vec![PROGRAM.into()],
        readable: vec![],
    }
}

pub fn pool(config: Config, worker: &str) -> ConversionPool {
    ConversionPool::new(
        config,
        Err(OcrUnavailable::new("no models")),
        Some(launch(worker)),
    )
}

/// In the converter's place: where it works for a name of `where`, else the tally of its tricks.
pub fn attack_as_converter(
    job: Job<'_>,
    _config: &Config,
    _limits: &Limits<'_>,
) -> Result<Converted> {
    let markdown = if job.name == Some("where") {
        // As long as others are asked, they work elsewhere.
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::env::current_dir().unwrap().display().to_string()
    } else {
        serde_json::to_string(&tricks::try_all(
            &serde_json::from_slice(job.bytes).unwrap(),
            &tricks::of_converters(),
        ))
        .unwrap()
    };
    Ok(Converted {
        markdown,
        ..Converted::default()
    })
}

/// In LibreOffice's place: what is left where the drawing is looked for.
pub fn attack_as_program() {
    let targets: Targets = serde_json::from_slice(&std::fs::read("slides.pptx").unwrap()).unwrap();
    if !targets.leave.is_empty() {
        return crate::names::leave(&targets);
    }
    let tally = tricks::try_all(&targets, &tricks::of_programs());
    std::fs::write(DRAWN, serde_json::to_string(&tally).unwrap()).unwrap();
}

fn convert(pool: &ConversionPool, bytes: &[u8], name: &str) -> String {
    pool.convert(Job {
        bytes,
        name: Some(name),
        media_type: None,
    })
    .unwrap_or_else(|error| panic!("{}", error.full_message()))
    .markdown
}

/// Folders of two workers of a pool that are kept.
fn folders(pool: &ConversionPool) -> Vec<PathBuf> {
    loop {
        let work = || convert(pool, b"", "where");
        let mut folders = std::thread::scope(|scope| {
            let both = [scope.spawn(work), scope.spawn(work)];
            both.map(|one| PathBuf::from(one.join().unwrap())).to_vec()
        });
        folders.sort();
        folders.dedup();
        if folders.len() == 2 {
            return folders;
        }
    }
}

pub fn a_converter_that_was_taken_over_reaches_nothing() {
    let mut scene = Scene::new();
    let pool = pool(config(), WORKER);
    let confinement = pool
        .confinement()
        .unwrap_or_else(|error| panic!("{}", error.full_message()))
        .unwrap();
    println!("{}", confinement.enforced());
    scene.targets.neighbours = folders(&pool);
    for folder in &scene.targets.neighbours {
        std::fs::write(folder.join("secret"), SECRET).unwrap();
    }
    let answer = convert(&pool, &scene.document(), "attack");
    scene.assert_untouched("converter", &serde_json::from_str(&answer).unwrap());
    for folder in &scene.targets.neighbours {
        assert!(!folder.join("intruder").exists(), "{}", folder.display());
    }
}

/// Draws with the attacker as the program; what it left as its drawing.
pub fn draw(parent: &Path, document: &[u8]) -> Result<Vec<u8>> {
    let folder = WorkFolder::new_in(parent, "slides-").unwrap();
    let program = std::env::current_exe().unwrap();
    let office = Office {
        program: &program,
        launch: Some(&launch(WORKER)),
        config: &config(),
    };
    office.draw(&folder, document, SlideFormat::Pptx)
}

pub fn a_program_that_was_taken_over_reaches_nothing() {
    let mut scene = Scene::new();
    let pool = pool(config(), WORKER);
    scene.targets.neighbours = folders(&pool);
    for folder in &scene.targets.neighbours {
        std::fs::write(folder.join("secret"), SECRET).unwrap();
    }
    let left = draw(scene.folder.path(), &scene.document())
        .unwrap_or_else(|error| panic!("{}", error.full_message()));
    scene.assert_untouched("program", &serde_json::from_slice(&left).unwrap());
}

pub fn workers_are_replaced_as_often_as_is_wanted() {
    let folders_of = |documents_per_worker| {
        let mut config = config();
        config.documents_per_worker = documents_per_worker;
        let pool = pool(config, WORKER);
        let mut folders: Vec<String> = (0..3).map(|_| convert(&pool, b"", "where")).collect();
        folders.dedup();
        assert!(
            folders
                .iter()
                .rev()
                .skip(1)
                .all(|folder| documents_per_worker > 1 || !Path::new(folder).exists()),
            "{folders:?}"
        );
        folders.len()
    };
    assert_eq!((folders_of(1), folders_of(500)), (3, 1));
}
