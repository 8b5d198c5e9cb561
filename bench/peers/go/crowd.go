package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is n goroutines that wait at a gate.
type crowd struct {
	here, ended sync.WaitGroup
	gate        chan struct{}
	woken       int64
}

func gather(n int) *crowd {
	c := &crowd{gate: make(chan struct{})}
	c.here.Add(n)
	c.ended.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			c.here.Done()
			<-c.gate
			atomic.AddInt64(&c.woken, 1)
			c.ended.Done()
		}()
	}
	c.here.Wait()
	return c
}

func (c *crowd) disperse() {
	close(c.gate)
	c.ended.Wait()
}

func wakeAll(n int) int {
	rss, tables := memory("VmRSS:"), memory("VmPTE:")
	start := time.Now()
	c := gather(n)
	report("spawn_ns", float64(time.Since(start).Nanoseconds())/float64(n))
	added := memory("VmPTE:") - tables
	report("bytes", (memory("VmRSS:")-rss+added)/float64(n))
	report("table_bytes", added/float64(n))
	begin = time.Now()
	c.disperse()
	end = time.Now()
	// A second for the runtime to give back what it wants to.
	time.Sleep(time.Second)
	report("left_bytes", (memory("VmRSS:")-rss)/float64(n))
	return int(c.woken)
}

// spanOf is how long sleeper i sleeps: 1 .. 50 ms.
func spanOf(i int) time.Duration {
	return time.Duration(1000+(uint32(i)*2654435761>>8)%49001) *
		time.Microsecond
}

func sleepAll(late []int64) {
	var ended sync.WaitGroup
	ended.Add(len(late))
	for i := range late {
		late[i] = -1
		go func(span time.Duration, late *int64) {
			when := time.Now().Add(span)
			time.Sleep(span)
			*late = time.Since(when).Nanoseconds()
			ended.Done()
		}(spanOf(i), &late[i])
	}
	ended.Wait()
}

// sleepers does it twice: the first time pays for memory that the second has
// already.
func sleepers(n int) int {
	late := make([]int64, n)
	sleepAll(late)
	runtime.GC()
	begin = time.Now()
	cpu := cpuMs()
	sleepAll(late)
	end = time.Now()
	report("cpu_ms", cpuMs()-cpu)
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	check(late[0] >= 0, "woken too early")
	report("p99_ms", float64(late[(n-1)*99/100])/1e6)
	return n
}

// idleWakeups is watched from an OS thread that sleeps in the kernel: a
// goroutine that sleeps would wake the runtime. What that thread does is not
// counted.
func idleWakeups(n int) int {
	far := time.NewTimer(time.Hour)
	c := gather(100)
	figures := make(chan idleFigures)
	go watchIdle(time.Duration(n)*time.Millisecond, figures)
	seen := <-figures
	report("wakes", seen.wakes)
	report("cpu_ms", seen.cpuMs)
	c.disperse()
	far.Stop()
	check(c.woken == 100, "goroutines that waited")
	return n
}
