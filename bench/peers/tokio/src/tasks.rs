//! Benchmarks of spawning, joining and yielding.

use crate::{check, share};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::{spawn, spawn_blocking, yield_now, JoinHandle};

pub async fn spawn_one(n: u64) -> u64 {
    let mut count = 0;
    for _ in 0..n {
        count += spawn(async { 1 }).await.unwrap();
    }
    check(count == n, "tasks that ran");
    n
}

pub async fn groups(n: u64, size: u64) -> u64 {
    let mut tasks: Vec<JoinHandle<u64>> = Vec::with_capacity(size as usize);
    let mut sum = 0;
    for _ in 0..n {
        for _ in 0..size {
            tasks.push(spawn(async { 1 }));
        }
        for task in tasks.drain(..) {
            sum += task.await.unwrap();
        }
    }
    check(sum == n * size, "tasks that ran");
    n
}

pub async fn spawn_batch(n: u64) -> u64 {
    groups(share(n, 1000), 1000).await * 1000
}

pub async fn yields(n: u64, tasks: u64) -> u64 {
    let rounds = share(n, tasks);
    let all: Vec<_> = (0..tasks)
        .map(|_| {
            spawn(async move {
                let mut done = 0;
                while done < rounds {
                    yield_now().await;
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut sum = 0;
    for task in all {
        sum += task.await.unwrap();
    }
    sum
}

/// Boxed: an async function that spawns itself has no finite type.
fn skynet_node(parent: mpsc::Sender<u64>, first: u64, leaves: u64) -> crate::Run {
    Box::pin(async move {
        let mut sum = first;
        if leaves > 1 {
            let (mine, mut children) = mpsc::channel(1);
            let part = leaves / 10;
            for i in 0..10 {
                spawn(skynet_node(mine.clone(), first + i * part, part));
            }
            sum = 0;
            for _ in 0..10 {
                sum += children.recv().await.unwrap();
            }
        }
        parent.send(sum).await.unwrap();
        0
    })
}

pub async fn skynet(n: u64) -> u64 {
    let (mut leaves, mut tasks) = (1, 1);
    while leaves < n {
        leaves *= 10;
        tasks += leaves;
    }
    let (parent, mut root) = mpsc::channel(1);
    spawn(skynet_node(parent, 0, leaves));
    let sum = root.recv().await.unwrap();
    check(sum == leaves * (leaves - 1) / 2, "sum of the leaves");
    tasks
}

pub async fn blocking(n: u64) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    for i in 1..=n {
        let count = count.clone();
        let result = spawn_blocking(move || count.fetch_add(1, Relaxed) + 1).await;
        check(result.unwrap() == i, "result");
    }
    count.load(Relaxed)
}
