// SPDX-License-Identifier: MIT
//
// The workloads on Tokio's multi-threaded runtime.
//
// Usage: tokio [WORKLOAD [PROCS]]
//
// A task is a state machine without a stack, and Tokio has no channel without
// a buffer: pingpong goes through channels of one, skynet and fib through join
// handles, and parked waits on a Notify (its memory is without page tables).
// The workloads of futures are the same as skynet, fib and spawnjoin, under the
// names of the others' join forms.
// On a crowded machine echo may wait for ever: up to 1.33 Tokio can lose an
// event (its issue 6133).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, Notify};
use tokio::task::yield_now;

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn nsop(name: &str, n: usize, start: Instant) {
    let ns = start.elapsed().as_nanos() as f64;
    println!("{:<16} {:>10.1} ns/op", name, ns / n as f64);
}

fn ms(name: &str, start: Instant) {
    let us = start.elapsed().as_micros() as f64;
    println!("{:<16} {:>10.1} ms", name, us / 1e3);
}

fn rss_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

async fn spawn(n: usize) {
    let done = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    for _ in 0..n {
        let done = done.clone();
        tokio::spawn(async move {
            done.fetch_add(1, Relaxed);
        });
    }
    while done.load(Relaxed) < n {
        yield_now().await;
    }
    nsop("spawn", n, start);
}

async fn spawnjoin(name: &str, n: usize) {
    let start = Instant::now();
    for _ in 0..n {
        tokio::spawn(async {}).await.unwrap();
    }
    nsop(name, n, start);
}

async fn yields(n: usize) {
    let start = Instant::now();
    let mut tasks = vec![];
    for _ in 0..4 {
        tasks.push(tokio::spawn(async move {
            for _ in 0..n / 4 {
                yield_now().await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    nsop("yield", n, start);
}

async fn pingpong(n: usize) {
    let (ping, mut pinged) = mpsc::channel::<usize>(1);
    let (pong, mut ponged) = mpsc::channel::<usize>(1);
    tokio::spawn(async move {
        while let Some(v) = pinged.recv().await {
            pong.send(v).await.unwrap();
        }
    });
    let start = Instant::now();
    for i in 0..n {
        ping.send(i).await.unwrap();
        ponged.recv().await;
    }
    nsop("pingpong", n, start);
}

async fn spsc(n: usize) {
    let (tx, mut rx) = mpsc::channel::<usize>(128);
    let start = Instant::now();
    tokio::spawn(async move {
        for i in 0..n {
            tx.send(i).await.unwrap();
        }
    });
    while rx.recv().await.is_some() {}
    nsop("chan_spsc128", n, start);
}

fn sky(num: u64, size: u64) -> Task<u64> {
    Box::pin(async move {
        if size == 1 {
            return num;
        }
        let mut children = Vec::new();
        for i in 0..10 {
            let child = sky(num + i * (size / 10), size / 10);
            children.push(tokio::spawn(child));
        }
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}

async fn skynet(name: &str) {
    let start = Instant::now();
    let sum = tokio::spawn(sky(0, 1_000_000)).await.unwrap();
    assert!(sum == 499_999_500_000);
    ms(name, start);
}

fn fib(n: u64) -> Task<u64> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let left = tokio::spawn(fib(n - 1));
        let right = fib(n - 2).await;
        left.await.unwrap() + right
    })
}

async fn fib27(name: &str) {
    let start = Instant::now();
    tokio::spawn(fib(27)).await.unwrap();
    ms(name, start);
}

async fn sleepers(n: usize) {
    let start = Instant::now();
    let mut tasks = Vec::with_capacity(n);
    for i in 0..n as u64 {
        tasks.push(tokio::spawn(async move {
            let nap = Duration::from_micros(100 * (1 + i % 1000));
            tokio::time::sleep(nap).await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    nsop("sleep_many", n, start);
}

async fn parked(n: usize) {
    let before = rss_bytes();
    let gate = Arc::new(Notify::new());
    let ready = Arc::new(AtomicUsize::new(0));
    for _ in 0..n {
        let gate = gate.clone();
        let ready = ready.clone();
        tokio::spawn(async move {
            ready.fetch_add(1, Relaxed);
            gate.notified().await;
        });
    }
    while ready.load(Relaxed) < n {
        yield_now().await;
    }
    let each = (rss_bytes() - before) as f64 / n as f64;
    println!("{:<16} {:>10.1} bytes/g", "parked_mem", each);
}

async fn serve(mut stream: TcpStream) {
    let mut buf = [0u8; 64];
    loop {
        match stream.read(&mut buf).await {
            Ok(n) if n > 0 => stream.write_all(&buf[..n]).await.unwrap(),
            _ => return,
        }
    }
}

async fn ask(mut stream: TcpStream, trips: usize) {
    let mut buf = [0u8; 64];
    for _ in 0..trips {
        stream.write_all(&buf).await.unwrap();
        stream.read_exact(&mut buf).await.unwrap();
    }
}

async fn echo(conns: usize, trips: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tokio::spawn(async move {
        for _ in 0..conns {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::spawn(serve(stream));
        }
    });
    let mut streams = vec![];
    for _ in 0..conns {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        streams.push(stream);
    }
    let start = Instant::now();
    let mut tasks = vec![];
    for stream in streams {
        tasks.push(tokio::spawn(ask(stream, trips)));
    }
    for task in tasks {
        task.await.unwrap();
    }
    nsop(&format!("echo_{}conn", conns), conns * trips, start);
    acceptor.await.unwrap();
}

extern "C" {
    fn getrlimit(resource: i32, limit: *mut [u64; 2]) -> i32;
    fn setrlimit(resource: i32, limit: *const [u64; 2]) -> i32;
}

/// The soft limit may be too low for a thousand connections' two ends.
fn raise_limit() {
    const RLIMIT_NOFILE: i32 = 7;
    let mut limit = [0u64; 2];
    unsafe {
        assert!(getrlimit(RLIMIT_NOFILE, &mut limit) == 0);
        limit[0] = limit[1];
        assert!(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
}

async fn run(asked: String) {
    let wanted = |name: &str| asked == "all" || asked == name;
    if wanted("spawn") {
        spawn(3_000_000).await;
    }
    if wanted("spawnjoin") {
        spawnjoin("spawnjoin", 1_000_000).await;
    }
    if wanted("spawnjoin_future") {
        spawnjoin("spawnjoin_future", 1_000_000).await;
    }
    if wanted("yield") {
        yields(8_000_000).await;
    }
    if wanted("pingpong") {
        pingpong(2_000_000).await;
    }
    if wanted("spsc") {
        spsc(10_000_000).await;
    }
    if wanted("skynet") {
        for _ in 0..3 {
            skynet("skynet1M").await;
        }
    }
    if wanted("skynet_future") {
        for _ in 0..3 {
            skynet("skynet_future").await;
        }
    }
    if wanted("fib") {
        for _ in 0..2 {
            fib27("fib27").await;
        }
    }
    if wanted("fib_future") {
        for _ in 0..3 {
            fib27("fib27_future").await;
        }
    }
    if wanted("sleepers") {
        sleepers(500_000).await;
    }
    if wanted("parked") {
        parked(1_000_000).await;
    }
    if wanted("echo") {
        raise_limit();
        echo(64, 5000).await;
        echo(1000, 300).await;
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let asked = args.next().unwrap_or_else(|| "all".to_string());
    let procs = args.next().map_or(2, |p| p.parse().unwrap());
    if asked == "version" {
        println!("Tokio {}", option_env!("PEER_VERSION").unwrap_or("?"));
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(procs)
        .enable_all()
        .build()
        .unwrap();

    // Spawned, so that the workload runs on a worker like its children.
    runtime.block_on(async { tokio::spawn(run(asked)).await.unwrap() });
}
