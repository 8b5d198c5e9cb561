//! The parallel loops in Rayon: the command line, calibration, clock and
//! output, as bench/driver.c has them for C.

mod grid;

use std::time::Instant;

const SECONDS: f64 = 0.3;

/// Figures that are printed beside the time.
pub type Figures = Vec<(&'static str, f64)>;

pub type Run = Box<dyn Fn(u64, &mut Figures) -> u64 + Send + Sync>;

/// Does about n operations and returns how many.
pub struct Bench {
    pub id: String,
    pub run: Run,
}

pub fn check(ok: bool, what: &str) {
    if !ok {
        eprintln!("benchmark failed: {what}");
        std::process::exit(1);
    }
}

/// Run n operations; the nanoseconds they took and how many they were.
fn timed(bench: &Bench, n: u64, figures: &mut Figures) -> (f64, u64) {
    let begin = Instant::now();
    let ops = (bench.run)(n, figures);
    let ns = begin.elapsed().as_nanos() as f64;
    check(ops >= n, "too few operations");
    (ns.max(1.0), ops)
}

fn calibrate(bench: &Bench, target: f64) -> u64 {
    let mut n = 1;
    loop {
        let (ns, ops) = timed(bench, n, &mut Figures::new());
        let factor = target / ns;
        if factor < 5.0 {
            return (ops as f64 * factor) as u64 + 1;
        }
        let factor = if factor < 400.0 { factor / 4.0 } else { 100.0 };
        n = (ops as f64 * factor) as u64 + 1;
    }
}

fn measure(bench: &Bench, workers: usize, seconds: f64, iters: u64) {
    let n = if iters > 0 {
        iters
    } else {
        calibrate(bench, seconds * 1e9)
    };
    let mut figures = Figures::new();
    let (ns, ops) = timed(bench, n, &mut figures);
    let figures: String = figures
        .iter()
        .map(|(key, value)| format!(", \"{key}\": {value:.4}"))
        .collect();
    println!(
        "{{\"bench\": \"{}\", \"workers\": {workers}, \"ops\": {ops}, \"ns\": {:.3}{figures}}}",
        bench.id,
        ns / ops as f64
    );
}

fn usage() -> ! {
    eprintln!("usage: bench-rayon --bench ID [--workers N] [--seconds S] [--iters M] | --list");
    std::process::exit(2);
}

fn number<T: std::str::FromStr>(text: Option<String>) -> T {
    text.and_then(|t| t.parse().ok()).unwrap_or_else(|| usage())
}

fn main() {
    let table = grid::table();
    let (mut id, mut workers, mut seconds, mut iters) = (String::new(), 1, SECONDS, 0);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        match name.as_str() {
            "--list" => {
                for bench in table {
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
    let Some(bench) = table.into_iter().find(|b| b.id == id) else {
        usage();
    };
    // Inside, so that the caller is a worker too.
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool of threads")
        .install(|| measure(&bench, workers, seconds, iters));
}
