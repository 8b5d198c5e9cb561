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

// bench does about n operations and returns how many; once > 0 fixes n, and
// whole says in a short run too.
type bench struct {
	id    string
	run   func(n int) int
	once  int
	whole bool
}

const defaultSeconds = 0.3

type figure struct {
	key   string
	value float64
}

var (
	begin, end time.Time
	figures    []figure
)

func check(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "benchmark failed:", what)
		os.Exit(1)
	}
}

// report sets a figure that is printed beside the time.
func report(key string, value float64) {
	for i := range figures {
		if figures[i].key == key {
			figures[i].value = value
			return
		}
	}
	figures = append(figures, figure{key, value})
}

func share(n, k int) int { return (n + k - 1) / k }

func timed(b *bench, n int) (ns float64, ops int) {
	end = time.Time{}
	begin = time.Now()
	ops = b.run(n)
	if end.IsZero() {
		end = time.Now()
	}
	ns = float64(end.Sub(begin).Nanoseconds())
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

// scaled is the count of a benchmark that is not calibrated.
func scaled(b *bench, seconds float64) int {
	if seconds < defaultSeconds && !b.whole {
		return int(float64(b.once)*seconds/defaultSeconds + 0.5)
	}
	return b.once
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
		n = scaled(b, *seconds)
	} else if n <= 0 {
		n = calibrate(b, *seconds*1e9)
	}
	ns, ops := timed(b, n)
	fmt.Printf("{\"bench\": %q, \"workers\": %d, \"ops\": %d, \"ns\": %.3f",
		b.id, *workers, ops, ns/float64(ops))
	for _, f := range figures {
		fmt.Printf(", %q: %.4f", f.key, f.value)
	}
	fmt.Println("}")
}
