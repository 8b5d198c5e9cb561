//! The loops, as bench/grid.c has them for C.

use crate::{check, Bench, Figures, Run};
use rayon::prelude::*;
use std::arch::asm;
use std::time::Instant;

const SLICES: u64 = 150;
const SUM_SHIFT: u32 = 12;

/// An item: that many tokens, each of which needs the one before it.
fn work(seed: u64, tokens: u64) -> u64 {
    let mut t = seed;
    for i in (1..=tokens).rev() {
        let step = t.wrapping_mul(0x5DEECE66D).wrapping_add(0xB + i);
        t = t.wrapping_add(step & ((1 << 48) - 1));
        // SAFETY: no instruction; the compiler must not look through the
        // chain.
        unsafe { asm!("/* {0} */", inout(reg) t, options(nomem, nostack, preserves_flags)) };
    }
    t
}

#[inline(never)]
fn plain(out: &mut [u64], tokens: u64) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = work(i as u64, tokens);
    }
}

fn parallel(out: &mut [u64], tokens: u64) {
    out.par_iter_mut()
        .enumerate()
        .for_each(|(i, out)| *out = work(i as u64, tokens));
}

/// Run a loop k times: the time of one, and the sum of the last.
fn clocked(out: &mut [u64], tokens: u64, k: u64, run: fn(&mut [u64], u64)) -> (f64, u64) {
    out.fill(0);
    let start = Instant::now();
    for _ in 0..k {
        run(out, tokens);
    }
    let ns = start.elapsed().as_nanos() as f64 / k as f64;
    let sum = out.iter().fold(0, |sum: u64, v| sum.wrapping_add(*v));
    (ns, sum)
}

fn cell(n: u64, size: usize, tokens: u64, figures: &mut Figures) -> u64 {
    let mut out = vec![0; size];
    let slices = n.min(SLICES);
    let k = n.div_ceil(slices);
    let (mut serial, mut shared) = (f64::INFINITY, f64::INFINITY);
    let mut sum = 0;
    for _ in 0..slices {
        let (ns, want) = clocked(&mut out, tokens, k, plain);
        serial = serial.min(ns);
        let (ns, got) = clocked(&mut out, tokens, k, parallel);
        shared = shared.min(ns);
        check(got == want, "sum of the results");
        sum = got;
    }
    figures.push(("ts_ns", serial));
    figures.push(("tp_ns", shared));
    figures.push(("sum", (sum >> SUM_SHIFT) as f64));
    slices * k
}

fn one_item(n: u64, _: &mut Figures) -> u64 {
    let (mut out, mut sum) = ([0], 0_u64);
    for _ in 0..n {
        out[0] = 0;
        parallel(&mut out, 1);
        sum = sum.wrapping_add(out[0]);
    }
    check(sum == n.wrapping_mul(work(0, 1)), "sum of the results");
    n
}

/// The first of a million items fails. There is no limit on how many begin,
/// but for the workers; those that have begun compute on to their end.
fn abort_first(n: u64, _: &mut Figures) -> u64 {
    for _ in 0..n {
        let result = (0..1_000_000).into_par_iter().try_for_each(|item| {
            if item == 0 {
                return Err("the first item");
            }
            work(item, 100);
            Ok(())
        });
        check(result.is_err(), "the error");
    }
    n
}

pub fn table() -> Vec<Bench> {
    let bench = |id: &str, run: Run| Bench {
        id: id.to_string(),
        run,
    };
    let mut table = vec![
        bench("par_n1", Box::new(one_item)),
        bench("par_abort", Box::new(abort_first)),
    ];
    for size in [100, 1000, 10_000] {
        for tokens in (0..6).map(|power| 10_u64.pow(power)) {
            table.push(bench(
                &format!("par_{size}_{tokens}"),
                Box::new(move |n, figures| cell(n, size, tokens, figures)),
            ));
        }
    }
    table
}
