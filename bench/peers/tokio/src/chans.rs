//! Benchmarks of channels, select and the mutex.

use crate::{check, share};
use std::future::ready;
use std::sync::Arc;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::{spawn, yield_now};

pub async fn pingpong(n: u64) -> u64 {
    let (ping, mut pinged) = channel(1);
    let (pong, mut ponged) = channel(1);
    let other = spawn(async move {
        while let Some(v) = pinged.recv().await {
            pong.send(v + 1).await.unwrap();
        }
    });
    let mut v = 0;
    for _ in 0..n {
        ping.send(v).await.unwrap();
        v = ponged.recv().await.unwrap();
    }
    drop(ping);
    other.await.unwrap();
    check(v == n, "round trips");
    n
}

pub async fn buffered(n: u64) -> u64 {
    let (sender, mut receiver) = channel(128);
    let consumer = spawn(async move {
        let (mut items, mut sum) = (0, 0);
        while let Some(v) = receiver.recv().await {
            items += 1;
            sum += v;
        }
        (items, sum)
    });
    let producer = spawn(async move {
        for i in 0..n {
            sender.send(i).await.unwrap();
        }
    });
    producer.await.unwrap();
    let (items, sum): (u64, u64) = consumer.await.unwrap();
    check(sum == n * (n - 1) / 2, "sum of the items");
    items
}

/// A task that sends each times on a channel of its own.
fn source(each: u64) -> Receiver<u64> {
    let (sender, receiver) = channel(1);
    spawn(async move {
        for i in 0..each {
            sender.send(i).await.unwrap();
        }
    });
    receiver
}

pub async fn select2(n: u64) -> u64 {
    let each = share(n, 2);
    let (mut a, mut b) = (source(each), source(each));
    let mut sum = 0;
    for _ in 0..2 * each {
        sum += tokio::select! {
            Some(v) = a.recv() => v,
            Some(v) = b.recv() => v,
            else => break,
        };
    }
    check(sum == 2 * (each * (each - 1) / 2), "sum of the messages");
    2 * each
}

pub async fn select8(n: u64) -> u64 {
    let each = share(n, 8);
    let mut c: [Receiver<u64>; 8] = std::array::from_fn(|_| source(each));
    let [c0, c1, c2, c3, c4, c5, c6, c7] = &mut c;
    let mut sum = 0;
    for _ in 0..8 * each {
        sum += tokio::select! {
            Some(v) = c0.recv() => v,
            Some(v) = c1.recv() => v,
            Some(v) = c2.recv() => v,
            Some(v) = c3.recv() => v,
            Some(v) = c4.recv() => v,
            Some(v) = c5.recv() => v,
            Some(v) = c6.recv() => v,
            Some(v) = c7.recv() => v,
            else => break,
        };
    }
    check(sum == 8 * (each * (each - 1) / 2), "sum of the messages");
    8 * each
}

/// A channel of capacity 1 that holds its own index.
fn full(index: usize) -> (Sender<usize>, Receiver<usize>) {
    let (sender, receiver) = channel(1);
    sender.try_send(index).unwrap();
    (sender, receiver)
}

pub async fn select2_ready(n: u64) -> u64 {
    let ((s0, mut c0), (s1, mut c1)) = (full(0), full(1));
    let senders = [s0, s1];
    for _ in 0..n {
        let (arm, v) = tokio::select! {
            Some(v) = c0.recv() => (0, v),
            Some(v) = c1.recv() => (1, v),
            else => break,
        };
        check(v == arm, "value of the arm");
        senders[arm].send(v).await.unwrap();
    }
    n
}

pub async fn select8_ready(n: u64) -> u64 {
    let (senders, mut c): (Vec<_>, Vec<_>) = (0..8).map(full).unzip();
    let [c0, c1, c2, c3, c4, c5, c6, c7] = &mut c[..] else {
        unreachable!()
    };
    for _ in 0..n {
        let (arm, v) = tokio::select! {
            Some(v) = c0.recv() => (0, v),
            Some(v) = c1.recv() => (1, v),
            Some(v) = c2.recv() => (2, v),
            Some(v) = c3.recv() => (3, v),
            Some(v) = c4.recv() => (4, v),
            Some(v) = c5.recv() => (5, v),
            Some(v) = c6.recv() => (6, v),
            Some(v) = c7.recv() => (7, v),
            else => break,
        };
        check(v == arm, "value of the arm");
        senders[arm].send(v).await.unwrap();
    }
    n
}

pub async fn select_default(n: u64) -> u64 {
    let (_sender, mut receiver) = channel::<u64>(1);
    let mut empty = 0;
    for _ in 0..n {
        tokio::select! {
            biased;
            _ = receiver.recv() => {}
            _ = ready(()) => empty += 1,
        }
    }
    empty
}

pub async fn mutex(n: u64) -> u64 {
    let lock = Mutex::new(0);
    for _ in 0..n {
        *lock.lock().await += 1;
    }
    lock.into_inner()
}

/// The holder yields, so that the others pile up behind it.
pub async fn mutex_yield(n: u64) -> u64 {
    let lock = Arc::new(Mutex::new(0));
    let rounds = share(n, 4);
    let all: Vec<_> = (0..4)
        .map(|_| {
            let lock = lock.clone();
            spawn(async move {
                for _ in 0..rounds {
                    let mut count = lock.lock().await;
                    let seen = *count;
                    yield_now().await;
                    *count = seen + 1;
                }
            })
        })
        .collect();
    for task in all {
        task.await.unwrap();
    }
    let count = *lock.lock().await;
    count
}
