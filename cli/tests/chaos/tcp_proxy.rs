//! A proxy on loopback that passes bytes on, slowly, not at all, or cuts all connections: between
//! the processes and the broker.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the proxy does with what comes in.
#[derive(Default)]
struct State {
    /// Port on loopback that it passes everything on to.
    target: AtomicU16,
    /// Each piece waits for so long.
    delay_ms: AtomicU64,
    /// Connections are refused.
    is_cut: AtomicBool,
    /// Connections of this process are refused; 0 for none.
    cut_process: AtomicU32,
    open: Mutex<Vec<Open>>,
}

/// Both sides of a connection that passes.
struct Open {
    client: TcpStream,
    server: TcpStream,
}

impl Open {
    fn end(&self) {
        self.client.shutdown(Shutdown::Both).ok();
        self.server.shutdown(Shutdown::Both).ok();
    }
}

/// The proxy; lives until the test ends.
pub struct TcpProxy {
    pub port: u16,
    state: Arc<State>,
}

impl TcpProxy {
    /// Listens on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || relay(client, &state));
            }
        });
        Self { port, state }
    }

    /// Where everything goes.
    pub fn lead_to(&self, port: u16) {
        self.state.target.store(port, Ordering::Relaxed);
    }

    /// Each piece of data waits for so long.
    pub fn delay(&self, delay: Duration) {
        self.state
            .delay_ms
            .store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Ends all connections at once; refuses new ones while `refuse`.
    pub fn cut(&self, refuse: bool) {
        self.state.is_cut.store(refuse, Ordering::Relaxed);
        let mut open = self
            .state
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        open.drain(..).for_each(|connection| connection.end());
    }

    /// Ends all connections of one process and refuses new ones of it, while those of others pass.
    pub fn cut_off(&self, process: u32) {
        self.state.cut_process.store(process, Ordering::Relaxed);
        let open = self
            .state
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        open.iter()
            .filter(|connection| owns(process, &connection.client))
            .for_each(Open::end);
    }

    /// Everything passes again.
    pub fn heal(&self) {
        self.delay(Duration::ZERO);
        self.state.is_cut.store(false, Ordering::Relaxed);
        self.state.cut_process.store(0, Ordering::Relaxed);
    }
}

/// Whether a process holds the other end of a connection on loopback (Linux).
fn owns(process: u32, connection: &TcpStream) -> bool {
    let Ok(peer) = connection.peer_addr() else {
        return false;
    };
    let table = std::fs::read_to_string("/proc/net/tcp")
        .ok()
        .unwrap_or_default();
    let local = format!("0100007F:{:04X}", peer.port());
    let row = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|row| row.get(1) == Some(&local.as_str()));
    let Some(socket) = row.and_then(|row| row.get(9).map(|inode| format!("socket:[{inode}]")))
    else {
        return false;
    };
    let files = std::fs::read_dir(format!("/proc/{process}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|target| target.as_os_str() == socket.as_str())
}

fn relay(client: TcpStream, state: &Arc<State>) {
    if state.is_cut.load(Ordering::Relaxed) {
        return;
    }
    let cut_process = state.cut_process.load(Ordering::Relaxed);
    if cut_process != 0 && owns(cut_process, &client) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.target.load(Ordering::Relaxed))) else {
        return;
    };
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    {
        let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|connection| connection.client.peer_addr().is_ok());
        if let (Ok(client), Ok(server)) = (client.try_clone(), server.try_clone()) {
            open.push(Open { client, server });
        }
    }
    let upstream = Arc::clone(state);
    std::thread::spawn(move || pass(client_again, server_again, &upstream));
    pass(server, client, state);
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    to.set_nodelay(true).ok();
    let mut piece = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut piece) {
        let delay_ms = state.delay_ms.load(Ordering::Relaxed);
        if delay_ms > 0 {
            std::thread::sleep(Duration::from_millis(delay_ms));
        }
        if length == 0 || to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    // Whoever read from the other side learns of it too.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
