package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// beside runs a benchmark while another goroutine computes on the other P.
// The runtime preempts that one every 10 ms, and lets it go on.
func beside(run func(n int) int) func(n int) int {
	return func(n int) int {
		var here, stop int32
		ended := make(chan uint64)
		go func() {
			x := uint64(1)
			atomic.StoreInt32(&here, 1)
			for atomic.LoadInt32(&stop) == 0 {
				for i := 0; i < 1000; i++ {
					x = x*6364136223846793005 + 1442695040888963407
				}
			}
			ended <- x
		}()
		for atomic.LoadInt32(&here) == 0 {
			runtime.Gosched()
		}
		begin = time.Now()
		ops := run(n)
		end = time.Now()
		atomic.StoreInt32(&stop, 1)
		check(<-ended != 0, "the neighbour computed")
		return ops
	}
}
