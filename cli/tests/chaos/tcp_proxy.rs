//! A proxy on loopback that passes bytes on, slowly, not at all, or cuts all connections: between the processes and the broker.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
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
    open: Mutex<Vec<TcpStream>>,
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
        self.state.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Ends all connections at once; refuses new ones while `refuse`.
    pub fn cut(&self, refuse: bool) {
        self.state.is_cut.store(refuse, Ordering::Relaxed);
        let mut open = self.state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.drain(..).for_each(|stream| stream.shutdown(Shutdown::Both).unwrap_or_default());
    }

    /// Everything passes again.
    pub fn heal(&self) {
        self.delay(Duration::ZERO);
        self.state.is_cut.store(false, Ordering::Relaxed);
    }
}

fn relay(client: TcpStream, state: &Arc<State>) {
    if state.is_cut.load(Ordering::Relaxed) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.target.load(Ordering::Relaxed))) else { return };
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
    {
        let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|stream| stream.peer_addr().is_ok());
        open.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
    }
    let upstream = Arc::clone(state);
    std::thread::spawn(move || pass(client_again, server_again, &upstream));
    pass(server, client, state);
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    to.set_nodelay(true).unwrap_or_default();
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
    from.shutdown(Shutdown::Both).unwrap_or_default();
    to.shutdown(Shutdown::Both).unwrap_or_default();
}
