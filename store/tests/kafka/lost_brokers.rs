//! A broker that is only just starting lists no brokers, not even itself: librdkafka forgets all of them then. Clients come back.
//! Needs no real broker.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::*;

const TOPICS: i32 = 20_000;

/// A broker that answers what a client asks first: which requests it knows, and which brokers and topics there are. While `is_starting`
/// it knows of no broker, not even itself.
fn fake_broker(is_starting: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let is_starting = Arc::clone(&is_starting);
            std::thread::spawn(move || while answer(&connection, port, is_starting.load(Ordering::SeqCst)).is_some() {});
        }
    });
    port
}

fn answer(mut connection: &TcpStream, port: u16, is_starting: bool) -> Option<()> {
    let mut length = [0; 4];
    connection.read_exact(&mut length).ok()?;
    let mut request = vec![0; u32::from_be_bytes(length) as usize];
    connection.read_exact(&mut request).ok()?;
    let number = |at: usize| Some(i16::from_be_bytes([*request.get(at)?, *request.get(at + 1)?]));
    let mut body = request.get(4..8)?.to_vec();
    match (number(0)?, number(2)?) {
        // ApiVersions: Metadata 0, FindCoordinator 0 and itself 0; a newer question is refused.
        (18, version) => {
            body.extend(if version == 0 { 0_i16 } else { 35 }.to_be_bytes());
            body.extend(3_i32.to_be_bytes());
            [3_i16, 0, 0, 10, 0, 0, 18, 0, 0].iter().for_each(|part| body.extend(part.to_be_bytes()));
        }
        // Metadata 0: brokers, then topics with their partitions.
        (3, _) => {
            body.extend(i32::from(!is_starting).to_be_bytes());
            if !is_starting {
                body.extend([1_i32.to_be_bytes().as_slice(), &9_i16.to_be_bytes(), b"127.0.0.1"].concat());
                body.extend(i32::from(port).to_be_bytes());
            }
            // Many, so that the client still reads when its brokers are gone.
            let topics = if is_starting { TOPICS } else { 1 };
            body.extend(topics.to_be_bytes());
            for number in 0..topics {
                let name = if number == 0 { "topic".to_owned() } else { format!("topic-{number}") };
                body.extend([0_i16.to_be_bytes().as_slice(), &i16::try_from(name.len()).ok()?.to_be_bytes(), name.as_bytes()].concat());
                body.extend(1_i32.to_be_bytes());
                body.extend(if is_starting { 5_i16 } else { 0 }.to_be_bytes());
                let leader = if is_starting { -1 } else { 1 };
                [0_i32, leader, 1, 1, 1, 1].iter().for_each(|part| body.extend(part.to_be_bytes()));
            }
        }
        _ => return None,
    }
    connection.write_all(&u32::try_from(body.len()).ok()?.to_be_bytes()).ok()?;
    connection.write_all(&body).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_outlives_a_broker_that_lists_no_brokers() {
    let is_starting = Arc::new(AtomicBool::new(false));
    let port = fake_broker(Arc::clone(&is_starting));
    let settings = Config { request_timeout_ms: 1_000, ..config(&format!("127.0.0.1:{port}")) };
    let log = KafkaEventLog::open(settings).await.unwrap();
    log.subscribe("topic", None).await.unwrap();
    is_starting.store(true, Ordering::SeqCst);
    let lost = async { while log.subscribe("topic", None).await.is_ok() {} };
    tokio::time::timeout(SOON, lost).await.expect("brokers are lost");
    is_starting.store(false, Ordering::SeqCst);
    let end = Instant::now() + SOON;
    let mut again = log.subscribe("topic", None).await.map(drop);
    while again.is_err() && Instant::now() < end {
        again = log.subscribe("topic", None).await.map(drop);
    }
    again.unwrap();
}
