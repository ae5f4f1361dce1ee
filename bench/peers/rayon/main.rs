// SPDX-License-Identifier: MIT
//
// Fork and join by Rayon: join, and a parallel iterator.
//
// Usage: rayon [WORKLOAD [PROCS]]
//
// A job is run to its end by the thread that takes it, on that thread's stack,
// and may wait only for jobs: these workloads are those of the others that
// need no more. The second closure of a join is the one that others may steal.

use rayon::prelude::*;
use std::time::Instant;

const ELEMENTS: usize = 100_000_000;

fn nsop(name: &str, n: usize, start: Instant) {
    let ns = start.elapsed().as_nanos() as f64;
    println!("{:<16} {:>10.1} ns/op", name, ns / n as f64);
}

fn ms(name: &str, start: Instant) {
    let us = start.elapsed().as_micros() as f64;
    println!("{:<16} {:>10.1} ms", name, us / 1e3);
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = rayon::join(|| fib(n - 1), || fib(n - 2));
    left + right
}

fn fib27() {
    let start = Instant::now();
    let r = fib(27);
    ms("fib27_future", start);
    assert!(r == 196_418);
}

fn sky(num: u64, size: u64) -> u64 {
    if size == 1 {
        return num;
    }
    let mut part = [0; 10];
    rayon::scope(|s| {
        for (i, each) in part.iter_mut().enumerate() {
            s.spawn(move |_| {
                *each = sky(num + i as u64 * (size / 10), size / 10);
            });
        }
    });
    part.iter().sum()
}

fn skynet() {
    let start = Instant::now();
    let sum = sky(0, 1_000_000);
    ms("skynet_future", start);
    assert!(sum == 499_999_500_000);
}

fn spawnjoin(n: usize) {
    let mut done = 0;
    let start = Instant::now();
    for _ in 0..n {
        rayon::scope(|s| s.spawn(|_| done += 1));
    }
    nsop("spawnjoin_future", n, start);
    assert!(done == n);
}

fn pfor(v: &[i32]) {
    let start = Instant::now();
    let sum: i64 = v.par_iter().map(|&each| each as i64).sum();
    ms("pfor", start);
    let (whole, rest) = (ELEMENTS as i64 / 1024, ELEMENTS as i64 % 1024);
    assert!(sum == whole * (1023 * 1024 / 2) + rest * (rest - 1) / 2);
}

fn run(asked: &str) {
    let wanted = |name: &str| asked == "all" || asked == name;
    for _ in 0..3 {
        if wanted("fib_future") {
            fib27();
        }
    }
    for _ in 0..3 {
        if wanted("skynet_future") {
            skynet();
        }
    }
    if wanted("spawnjoin_future") {
        spawnjoin(1_000_000);
    }
    if wanted("pfor") {
        let v: Vec<i32> = (0..ELEMENTS).map(|i| (i % 1024) as i32).collect();
        for _ in 0..3 {
            pfor(&v);
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let asked = args.next().unwrap_or_else(|| "all".to_string());
    let procs = args.next().map_or(0, |p| p.parse().unwrap());
    if asked == "version" {
        println!("Rayon {}", option_env!("PEER_VERSION").unwrap_or("?"));
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(procs)
        .build()
        .unwrap();

    // Inside, so that the workload runs on a worker like its jobs.
    pool.install(|| run(&asked));
}
