//! The benchmarks in Tokio: the command line, calibration, clock and output,
//! as bench/driver.c has them for C.

mod chans;
mod crowd;
mod system;
mod tasks;

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Instant;

const SECONDS: f64 = 0.3;

pub type Run = Pin<Box<dyn Future<Output = u64> + Send>>;

/// Does about n operations and returns how many; once > 0 fixes n, and whole
/// says in a short run too.
pub struct Bench {
    pub id: &'static str,
    pub run: fn(u64) -> Run,
    pub once: u64,
    pub whole: bool,
}

/// An entry of the table for an async function of n.
macro_rules! bench {
    ($id:literal, $run:expr) => {
        bench!($id, $run, 0, false)
    };
    ($id:literal, $run:expr, $once:literal, $whole:literal) => {
        Bench {
            id: $id,
            run: |n| Box::pin($run(n)),
            once: $once,
            whole: $whole,
        }
    };
}

// There is no unbuffered channel: a capacity of 1 is the nearest. A channel
// has one receiver, so there is no buffered_4p4c.
static TABLE: &[Bench] = &[
    bench!("spawn_one", tasks::spawn_one),
    bench!("spawn_batch", tasks::spawn_batch),
    bench!("group10", |n| tasks::groups(n, 10)),
    bench!("group100", |n| tasks::groups(n, 100)),
    bench!("yield2", |n| tasks::yields(n, 2)),
    bench!("yield1000", |n| tasks::yields(n, 1000)),
    bench!("skynet", tasks::skynet, 1_000_000, false),
    bench!("blocking", tasks::blocking),
    bench!("pingpong", chans::pingpong),
    bench!("buffered_1p1c", chans::buffered),
    bench!("select2", chans::select2),
    bench!("select8", chans::select8),
    bench!("select2_ready", chans::select2_ready),
    bench!("select8_ready", chans::select8_ready),
    bench!("select_default", chans::select_default),
    bench!("mutex", chans::mutex),
    bench!("mutex_yield", chans::mutex_yield),
    bench!("timer", crowd::timer),
    bench!("timer100k", crowd::timer100k),
    bench!("sleepers10k", crowd::sleepers, 10_000, true),
    bench!("sleepers100k", crowd::sleepers, 100_000, true),
    bench!("wake_all", crowd::wake_all, 1_000_000, false),
    bench!("par_mass_cancel", crowd::mass_cancel, 100_000, true),
    // Milliseconds to watch for.
    bench!("idle_wakeups", crowd::idle_wakeups, 2000, false),
];

struct Clock {
    begin: Option<Instant>,
    end: Option<Instant>,
    figures: Vec<(&'static str, f64)>,
}

static CLOCK: Mutex<Clock> = Mutex::new(Clock {
    begin: None,
    end: None,
    figures: Vec::new(),
});

/// Start the clock again: what came before was preparation.
pub fn begin() {
    CLOCK.lock().unwrap().begin = Some(Instant::now());
}

/// Stop the clock: what comes after is clearing up.
pub fn end() {
    CLOCK.lock().unwrap().end = Some(Instant::now());
}

/// Set a figure that is printed beside the time.
pub fn report(key: &'static str, value: f64) {
    let figures = &mut CLOCK.lock().unwrap().figures;
    figures.retain(|f| f.0 != key);
    figures.push((key, value));
}

pub fn check(ok: bool, what: &str) {
    if !ok {
        eprintln!("benchmark failed: {what}");
        std::process::exit(1);
    }
}

pub fn share(n: u64, k: u64) -> u64 {
    n.div_ceil(k)
}

/// Run n operations; the nanoseconds they took and how many they were.
async fn timed(bench: &Bench, n: u64) -> (f64, u64) {
    CLOCK.lock().unwrap().end = None;
    begin();
    let ops = (bench.run)(n).await;
    let clock = CLOCK.lock().unwrap();
    let end = clock.end.unwrap_or_else(Instant::now);
    let ns = (end - clock.begin.unwrap()).as_nanos() as f64;
    check(ops >= n, "too few operations");
    (ns.max(1.0), ops)
}

async fn calibrate(bench: &Bench, target: f64) -> u64 {
    let mut n = 1;
    loop {
        let (ns, ops) = timed(bench, n).await;
        let factor = target / ns;
        if factor < 5.0 {
            return (ops as f64 * factor) as u64 + 1;
        }
        let factor = if factor < 400.0 { factor / 4.0 } else { 100.0 };
        n = (ops as f64 * factor) as u64 + 1;
    }
}

async fn measure(bench: &'static Bench, workers: usize, seconds: f64, iters: u64) {
    let n = if iters > 0 {
        iters
    } else if bench.once == 0 {
        calibrate(bench, seconds * 1e9).await
    } else if seconds < SECONDS && !bench.whole {
        (bench.once as f64 * seconds / SECONDS + 0.5) as u64
    } else {
        bench.once
    };
    let (ns, ops) = timed(bench, n).await;
    let mut figures = String::new();
    for (key, value) in &CLOCK.lock().unwrap().figures {
        figures += &format!(", \"{key}\": {value:.4}");
    }
    println!(
        "{{\"bench\": \"{}\", \"workers\": {workers}, \"ops\": {ops}, \"ns\": {:.3}{figures}}}",
        bench.id,
        ns / ops as f64
    );
}

fn usage() -> ! {
    eprintln!("usage: bench-tokio --bench ID [--workers N] [--seconds S] [--iters M] | --list");
    std::process::exit(2);
}

fn number<T: std::str::FromStr>(text: Option<String>) -> T {
    text.and_then(|t| t.parse().ok()).unwrap_or_else(|| usage())
}

fn main() {
    let (mut id, mut workers, mut seconds, mut iters) = (String::new(), 1, SECONDS, 0);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--list" => {
                for bench in TABLE {
                    println!("{}", bench.id);
                }
                return;
            }
            "--bench" => id = number(args.next()),
            "--workers" => workers = number(args.next()),
            "--seconds" => seconds = number(args.next()),
            "--iters" => iters = number(args.next()),
            _ => usage(),
        }
    }
    let Some(bench) = TABLE.iter().find(|b| b.id == id) else {
        usage();
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_time()
        .build()
        .expect("a runtime");
    // A task, so that the work is done by the workers.
    let done = runtime.spawn(measure(bench, workers, seconds, iters));
    runtime.block_on(done).expect("the benchmark ends");
}
