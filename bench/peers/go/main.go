// The benchmarks in Go: the command line, calibration, clock and output, as
// bench/driver.c has them for C.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// bench does about n operations and returns how many; once > 0 fixes n.
type bench struct {
	id   string
	run  func(n int) int
	once int
}

const defaultSeconds = 0.3

var (
	begin     time.Time
	bytesEach float64
)

func check(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "benchmark failed:", what)
		os.Exit(1)
	}
}

func rss() float64 {
	var size, pages int
	f, err := os.Open("/proc/self/statm")
	check(err == nil, "cannot read /proc/self/statm")
	defer f.Close()
	fmt.Fscan(f, &size, &pages)
	return float64(pages * os.Getpagesize())
}

func share(n, k int) int { return (n + k - 1) / k }

func timed(b *bench, n int) (ns float64, ops int) {
	begin = time.Now()
	ops = b.run(n)
	ns = float64(time.Since(begin).Nanoseconds())
	check(ops >= n, "too few operations")
	if ns < 1 {
		ns = 1
	}
	return ns, ops
}

func calibrate(b *bench, target float64) int {
	n := 1
	for {
		ns, ops := timed(b, n)
		factor := target / ns
		if factor < 5 {
			return int(float64(ops)*factor) + 1
		}
		if factor < 400 {
			factor /= 4
		} else {
			factor = 100
		}
		n = int(float64(ops)*factor) + 1
	}
}

// scaled is the count of a benchmark that is not calibrated: less in a short
// run.
func scaled(once int, seconds float64) int {
	if seconds < defaultSeconds {
		return int(float64(once)*seconds/defaultSeconds + 0.5)
	}
	return once
}

func main() {
	id := flag.String("bench", "", "which one")
	workers := flag.Int("workers", 1, "GOMAXPROCS")
	seconds := flag.Float64("seconds", defaultSeconds, "how long to measure")
	iters := flag.Int("iters", 0, "operations; 0: calibrate")
	list := flag.Bool("list", false, "print the ids")
	flag.Parse()
	var b *bench
	for i := range table {
		if *list {
			fmt.Println(table[i].id)
		}
		if table[i].id == *id {
			b = &table[i]
		}
	}
	if *list {
		return
	}
	if b == nil || *workers < 1 || *seconds <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	runtime.GOMAXPROCS(*workers)
	n := *iters
	if n <= 0 && b.once > 0 {
		n = scaled(b.once, *seconds)
	} else if n <= 0 {
		n = calibrate(b, *seconds*1e9)
	}
	ns, ops := timed(b, n)
	fmt.Printf("{\"bench\": %q, \"workers\": %d, \"ops\": %d, \"ns\": %.3f",
		b.id, *workers, ops, ns/float64(ops))
	if bytesEach > 0 {
		fmt.Printf(", \"bytes\": %.1f", bytesEach)
	}
	fmt.Println("}")
}
