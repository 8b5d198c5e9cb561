//! Benchmarks of very many tasks, and of timers.

use crate::system::{cpu_ms, memory, watch_idle};
use crate::{begin, check, end, report};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::{spawn, JoinHandle};
use tokio::time::{sleep, sleep_until, Sleep};

/// n tasks that wait for a change.
struct Crowd {
    gate: watch::Sender<bool>,
    all: Vec<JoinHandle<()>>,
    woken: Arc<AtomicU64>,
}

async fn gather(n: u64) -> Crowd {
    let (gate, door) = watch::channel(false);
    let woken = Arc::new(AtomicU64::new(0));
    let missing = Arc::new(AtomicU64::new(n));
    let (all_here, mut here) = mpsc::channel(1);
    let mut all = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (mut door, woken) = (door.clone(), woken.clone());
        let (missing, all_here) = (missing.clone(), all_here.clone());
        all.push(spawn(async move {
            if missing.fetch_sub(1, Relaxed) == 1 {
                all_here.send(()).await.unwrap();
            }
            drop((missing, all_here));
            door.changed().await.unwrap();
            woken.fetch_add(1, Relaxed);
        }));
    }
    drop(all_here);
    here.recv().await.unwrap();
    // Nobody holds the other end any more: all have come to the door.
    check(here.recv().await.is_none(), "all are here");
    Crowd { gate, all, woken }
}

impl Crowd {
    async fn disperse(self) -> u64 {
        self.gate.send(true).unwrap();
        for task in self.all {
            task.await.unwrap();
        }
        self.woken.load(Relaxed)
    }

    /// How many were told to end and did.
    async fn abort(self) -> u64 {
        for task in &self.all {
            task.abort();
        }
        let mut cancelled = 0;
        for task in self.all {
            cancelled += u64::from(task.await.is_err_and(|e| e.is_cancelled()));
        }
        cancelled
    }
}

pub async fn mass_cancel(n: u64) -> u64 {
    let crowd = gather(n).await;
    begin();
    let cancelled = crowd.abort().await;
    end();
    cancelled
}

pub async fn wake_all(n: u64) -> u64 {
    let (rss, tables) = (memory("VmRSS:"), memory("VmPTE:"));
    let start = Instant::now();
    let crowd = gather(n).await;
    report("spawn_ns", start.elapsed().as_nanos() as f64 / n as f64);
    let added = memory("VmPTE:") - tables;
    report("bytes", (memory("VmRSS:") - rss + added) / n as f64);
    report("table_bytes", added / n as f64);
    begin();
    let woken = crowd.disperse().await;
    end();
    // A second for the allocator to give back what it wants to.
    sleep(Duration::from_secs(1)).await;
    report("left_bytes", (memory("VmRSS:") - rss) / n as f64);
    woken
}

/// How long sleeper i sleeps, in microseconds: 1000 .. 50000.
fn span_us(i: u32) -> u64 {
    u64::from(1000 + (i.wrapping_mul(2654435761) >> 8) % 49001)
}

async fn sleep_all(n: u64) -> Vec<i64> {
    let mut all = Vec::with_capacity(n as usize);
    for i in 0..n {
        all.push(spawn(async move {
            let when = tokio::time::Instant::now() + Duration::from_micros(span_us(i as u32));
            sleep_until(when).await;
            match tokio::time::Instant::now().checked_duration_since(when) {
                Some(late) => late.as_nanos() as i64,
                None => -1,
            }
        }));
    }
    let mut late = Vec::with_capacity(all.len());
    for task in all {
        late.push(task.await.unwrap());
    }
    late
}

/// Twice: the first time pays for memory that the second has already.
pub async fn sleepers(n: u64) -> u64 {
    sleep_all(n).await;
    begin();
    let cpu = cpu_ms();
    let mut late = sleep_all(n).await;
    end();
    report("cpu_ms", cpu_ms() - cpu);
    late.sort_unstable();
    check(late[0] >= 0, "woken too early");
    report("p99_ms", late[(late.len() - 1) * 99 / 100] as f64 / 1e6);
    n
}

/// A timer is armed when it is polled first.
fn arm(span: Duration) -> Pin<Box<Sleep>> {
    let mut timer = Box::pin(sleep(span));
    let mut context = Context::from_waker(Waker::noop());
    check(timer.as_mut().poll(&mut context) == Poll::Pending, "armed");
    timer
}

pub async fn timer(n: u64) -> u64 {
    let mut stopped = 0;
    for _ in 0..n {
        let timer = arm(Duration::from_secs(3600));
        stopped += u64::from(!timer.is_elapsed());
    }
    stopped
}

pub async fn timer100k(n: u64) -> u64 {
    let span = |i| Duration::from_millis(1_800_000 + 72 * span_us(i));
    let live: Vec<_> = (0..100_000).map(|i| arm(span(i))).collect();
    begin();
    let stopped = timer(n).await;
    end();
    drop(live);
    stopped
}

pub async fn idle_wakeups(n: u64) -> u64 {
    let far = arm(Duration::from_secs(3600));
    let crowd = gather(100).await;
    let watcher = std::thread::spawn(move || watch_idle(Duration::from_millis(n)));
    sleep(Duration::from_millis(n * 2)).await;
    let (wakes, cpu) = watcher.join().unwrap();
    report("wakes", wakes);
    report("cpu_ms", cpu);
    check(crowd.disperse().await == 100, "tasks that waited");
    drop(far);
    n
}
