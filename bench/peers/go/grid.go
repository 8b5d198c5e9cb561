// The parallel loops, as bench/grid.c has them for C.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	slices   = 150
	sumShift = 12
)

var errFirst = errors.New("the first item")

func init() {
	for _, size := range []int{100, 1000, 10000} {
		for tokens := 1; tokens <= 100000; tokens *= 10 {
			table = append(table, bench{fmt.Sprintf("par_%d_%d", size, tokens),
				cell(size, tokens), 0, false})
		}
	}
}

// work is an item: that many tokens, each of which needs the one before it.
func work(seed uint64, tokens int) uint64 {
	t := seed
	for i := uint64(tokens); i > 0; i-- {
		t += (t*0x5DEECE66D + 0xB + i) & (1<<48 - 1)
	}
	return t
}

func plain(out []uint64, first, tokens int) {
	for i := range out {
		out[i] = work(uint64(first+i), tokens)
	}
}

// inChunks is the loop as a part of the items for each P.
func inChunks(out []uint64, tokens int) error {
	g, _ := newBounded(0)
	parts := runtime.GOMAXPROCS(0)
	for p := 0; p < parts; p++ {
		first, last := p*len(out)/parts, (p+1)*len(out)/parts
		g.run(func() error {
			plain(out[first:last], first, tokens)
			return nil
		})
	}
	return g.wait()
}

// byItem is the loop as a goroutine an item, with as many at once as Ps.
func byItem(out []uint64, tokens int) error {
	g, ctx := newBounded(runtime.GOMAXPROCS(0))
	for i := range out {
		if ctx.Err() != nil {
			break
		}
		i := i
		g.run(func() error {
			out[i] = work(uint64(i), tokens)
			return nil
		})
	}
	return g.wait()
}

// clocked runs a loop k times: the time of one, and the sum of the last.
func clocked(out []uint64, k int, loop func() error) (float64, uint64) {
	for i := range out {
		out[i] = 0
	}
	start := time.Now()
	for i := 0; i < k; i++ {
		check(loop() == nil, "the loop")
	}
	ns := float64(time.Since(start).Nanoseconds()) / float64(k)
	sum := uint64(0)
	for _, result := range out {
		sum += result
	}
	return ns, sum
}

// cell reports the better of the two ways to write the loop.
func cell(size, tokens int) func(n int) int {
	return func(n int) int {
		out := make([]uint64, size)
		loops := []func() error{
			func() error { plain(out, 0, tokens); return nil },
			func() error { return inChunks(out, tokens) },
			func() error { return byItem(out, tokens) },
		}
		best := []float64{math.Inf(1), math.Inf(1), math.Inf(1)}
		parts := slices
		if n < parts {
			parts = n
		}
		k := share(n, parts)
		var sum uint64
		for i := 0; i < parts; i++ {
			for j, loop := range loops {
				ns, got := clocked(out, k, loop)
				best[j] = math.Min(best[j], ns)
				check(got == sum || i+j == 0, "sum of the results")
				sum = got
			}
		}
		report("ts_ns", best[0])
		report("tp_ns", math.Min(best[1], best[2]))
		report("chunks_ns", best[1])
		report("items_ns", best[2])
		report("sum", float64(sum>>sumShift))
		return parts * k
	}
}

func oneItem(n int) int {
	out := make([]uint64, 1)
	sum := uint64(0)
	for i := 0; i < n; i++ {
		out[0] = 0
		check(inChunks(out, 1) == nil, "the loop")
		sum += out[0]
	}
	check(sum == uint64(n)*work(0, 1), "sum of the results")
	return n
}

// allocations is of the loop of 1000 items, in chunks.
func allocations(n int) int {
	out := make([]uint64, 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := 0; i < n; i++ {
		check(inChunks(out, 100) == nil, "the loop")
	}
	runtime.ReadMemStats(&after)
	report("allocs", float64(after.Mallocs-before.Mallocs)/
		float64(n*len(out)))
	return n
}

// abortFirst starts a million items of which the first fails, 16 at once; the
// others wait for that, since otherwise it is chance how many begin.
func abortFirst(n int) int {
	for i := 0; i < n; i++ {
		g, ctx := newBounded(16)
		for item := 0; item < 1000000 && ctx.Err() == nil; item++ {
			fails := item == 0
			g.run(func() error {
				if fails {
					return errFirst
				}
				<-ctx.Done()
				return ctx.Err()
			})
		}
		check(g.wait() == errFirst, "the error")
	}
	return n
}

// massCancel cancels n goroutines that wait; the time until all have ended.
func massCancel(n int) int {
	ctx, cancel := context.WithCancel(context.Background())
	var here, ended sync.WaitGroup
	here.Add(n)
	ended.Add(n)
	never := make(chan int)
	told := make([]bool, n)
	for i := 0; i < n; i++ {
		go func(told *bool) {
			here.Done()
			select {
			case <-never:
			case <-ctx.Done():
				*told = true
			}
			ended.Done()
		}(&told[i])
	}
	here.Wait()
	begin = time.Now()
	cancel()
	ended.Wait()
	end = time.Now()
	for _, cancelled := range told {
		check(cancelled, "a task is cancelled")
	}
	return n
}
