//! What the kernel knows about this process.

use std::fs;
use std::time::Duration;

/// A number of a status file, by its name with the colon.
fn status(path: &str, name: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A size of /proc/self/status in bytes.
pub fn memory(name: &str) -> f64 {
    status("/proc/self/status", name).expect("/proc/self/status") * 1024.0
}

/// CPU time so far.
pub fn cpu_ms() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: t is a timespec to be filled in.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6
}

/// How often the threads of this process, but for the calling one, have gone
/// to sleep.
fn sleeps() -> f64 {
    let own = fs::read_link("/proc/thread-self").expect("/proc/thread-self");
    fs::read_dir("/proc/self/task")
        .expect("/proc/self/task")
        .map(|task| task.expect("a task").path())
        .filter(|task| task.file_name() != own.file_name())
        .filter_map(|task| status(task.join("status").to_str()?, "voluntary_ctxt_switches:"))
        .sum()
}

/// How often a second all other threads wake while they should not, and the
/// CPU time taken, in milliseconds.
pub fn watch_idle(span: Duration) -> (f64, f64) {
    std::thread::sleep(span / 4);
    let (before, cpu) = (sleeps(), cpu_ms());
    std::thread::sleep(span);
    let cpu = cpu_ms() - cpu;
    let seconds = span.as_secs_f64();
    ((sleeps() - before) / seconds, cpu / seconds)
}
