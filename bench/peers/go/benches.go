package main

import (
	"runtime"
	"sync"
	"time"
)

var table = []bench{
	{"spawn_one", spawnOne, 0, false},
	{"spawn_one_busy", beside(spawnOne), 0, false},
	{"spawn_batch", spawnBatch, 0, false},
	{"group10", func(n int) int { return groups(n, 10) }, 0, false},
	{"group100", func(n int) int { return groups(n, 100) }, 0, false},
	{"yield2", func(n int) int { return yields(n, 2) }, 0, false},
	{"yield1000", func(n int) int { return yields(n, 1000) }, 0, false},
	{"skynet", skynet, 1000000, false},
	{"pingpong", pingpong, 0, false},
	{"pingpong_busy", beside(pingpong), 0, false},
	{"buffered_1p1c", func(n int) int { return flow(n, 1, 128) }, 0, false},
	{"buffered_1p1c_busy", beside(func(n int) int { return flow(n, 1, 128) }), 0, false},
	{"buffered_4p4c", func(n int) int { return flow(n, 4, 128) }, 0, false},
	{"chan_4x4_0", func(n int) int { return flow(n, 4, 0) }, 0, false},
	{"chan_4x4_10", func(n int) int { return flow(n, 4, 10) }, 0, false},
	{"chan_4x4_100", func(n int) int { return flow(n, 4, 100) }, 0, false},
	{"handoff", func(n int) int { return flow(n, 1, 0) }, 0, false},
	{"buffered_same", bufferedSame, 0, false},
	{"go_recv", goRecv, 0, false},
	{"select2", select2, 0, false},
	{"select8", select8, 0, false},
	{"select8_busy", beside(select8), 0, false},
	{"select2_send", select2Send, 0, false},
	{"select2_ready", select2Ready, 0, false},
	{"select8_ready", select8Ready, 0, false},
	{"select_default", selectDefault, 0, false},
	{"mutex", mutex, 0, false},
	{"mutex_busy", beside(mutex), 0, false},
	{"mutex_yield", mutexYield, 0, false},
	{"rwmutex_read", rwmutexRead, 0, false},
	{"rwmutex_read_busy", beside(rwmutexRead), 0, false},
	{"rwmutex_write", rwmutexWrite, 0, false},
	{"sema", sema, 0, false},
	{"waitgroup", waitgroup, 0, false},
	{"once_done", onceDone, 0, false},
	{"future", futures, 0, false},
	{"barrier", barriers, 0, false},
	{"workgroup_1", workgroup1, 0, false},
	{"timer", timer, 0, false},
	{"timer_fire", timerFire, 0, false},
	{"timer100k", timer100k, 0, false},
	{"sleepers10k", sleepers, 10000, true},
	{"sleepers100k", sleepers, 100000, true},
	{"wake_all", wakeAll, 1000000, false},
	{"par_n1", oneItem, 0, false},
	{"par_alloc", allocations, 0, false},
	{"par_abort", abortFirst, 0, false},
	{"par_mass_cancel", massCancel, 100000, true},
	// Milliseconds to watch for.
	{"idle_wakeups", idleWakeups, 2000, false},
}

func countOne(count *int, wg *sync.WaitGroup) {
	*count++
	wg.Done()
}

func spawnOne(n int) int {
	var wg sync.WaitGroup
	count := 0
	for i := 0; i < n; i++ {
		wg.Add(1)
		go countOne(&count, &wg)
		wg.Wait()
	}
	check(count == n, "tasks that ran")
	return n
}

func groups(n, size int) int {
	slots := make([]int, size)
	for i := 0; i < n; i++ {
		var wg sync.WaitGroup
		wg.Add(size)
		for j := 0; j < size; j++ {
			go countOne(&slots[j], &wg)
		}
		wg.Wait()
	}
	sum := 0
	for _, count := range slots {
		sum += count
	}
	check(sum == n*size, "tasks that ran")
	return n
}

func spawnBatch(n int) int { return groups(share(n, 1000), 1000) * 1000 }

func yields(n, tasks int) int {
	var wg sync.WaitGroup
	done := make([]int, tasks)
	rounds := share(n, tasks)
	wg.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func(done *int) {
			i := 0
			for ; i < rounds; i++ {
				runtime.Gosched()
			}
			*done = i
			wg.Done()
		}(&done[i])
	}
	wg.Wait()
	sum := 0
	for _, count := range done {
		sum += count
	}
	return sum
}

func skynetNode(parent chan<- int, first, leaves int) {
	if leaves == 1 {
		parent <- first
		return
	}
	c := make(chan int)
	for i := 0; i < 10; i++ {
		go skynetNode(c, first+i*(leaves/10), leaves/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-c
	}
	parent <- sum
}

func skynet(n int) int {
	leaves, tasks := 1, 1
	for leaves < n {
		leaves *= 10
		tasks += leaves
	}
	c := make(chan int)
	go skynetNode(c, 0, leaves)
	check(<-c == leaves*(leaves-1)/2, "sum of the leaves")
	return tasks
}

func pingpong(n int) int {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v + 1
		}
		close(pong)
	}()
	v := 0
	for i := 0; i < n; i++ {
		ping <- v
		v = <-pong
	}
	close(ping)
	<-pong
	check(v == n, "round trips")
	return n
}

func flow(n, pairs, capacity int) int {
	c := make(chan int, capacity)
	var producers, consumers sync.WaitGroup
	each := share(n, pairs)
	items, sums := make([]int, pairs), make([]int, pairs)
	producers.Add(pairs)
	consumers.Add(pairs)
	for i := 0; i < pairs; i++ {
		go func(i int) {
			for v := range c {
				items[i]++
				sums[i] += v
			}
			consumers.Done()
		}(i)
		go func() {
			for i := 0; i < each; i++ {
				c <- i
			}
			producers.Done()
		}()
	}
	producers.Wait()
	close(c)
	consumers.Wait()
	total, sum := 0, 0
	for i := range items {
		total += items[i]
		sum += sums[i]
	}
	check(sum == pairs*(each*(each-1)/2), "sum of the items")
	return total
}

// sources starts len(c) tasks that send each times on a channel of their own.
func sources(c []chan int, each int) {
	for i := range c {
		c[i] = make(chan int)
		go func(c chan<- int) {
			for i := 0; i < each; i++ {
				c <- i
			}
		}(c[i])
	}
}

func select2(n int) int {
	var c [2]chan int
	each := share(n, 2)
	sources(c[:], each)
	c0, c1 := c[0], c[1]
	sum, v := 0, 0
	for i := 0; i < 2*each; i++ {
		select {
		case v = <-c0:
		case v = <-c1:
		}
		sum += v
	}
	check(sum == 2*(each*(each-1)/2), "sum of the messages")
	return 2 * each
}

func select8(n int) int {
	var c [8]chan int
	each := share(n, 8)
	sources(c[:], each)
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	c4, c5, c6, c7 := c[4], c[5], c[6], c[7]
	sum, v := 0, 0
	for i := 0; i < 8*each; i++ {
		select {
		case v = <-c0:
		case v = <-c1:
		case v = <-c2:
		case v = <-c3:
		case v = <-c4:
		case v = <-c5:
		case v = <-c6:
		case v = <-c7:
		}
		sum += v
	}
	check(sum == 8*(each*(each-1)/2), "sum of the messages")
	return 8 * each
}

// full makes channels of capacity 1, each holding its own index.
func full(c []chan int) {
	for i := range c {
		c[i] = make(chan int, 1)
		c[i] <- i
	}
}

func select2Ready(n int) int {
	var c [2]chan int
	full(c[:])
	c0, c1 := c[0], c[1]
	for i := 0; i < n; i++ {
		var v, arm int
		select {
		case v = <-c0:
			arm = 0
		case v = <-c1:
			arm = 1
		}
		check(v == arm, "value of the arm")
		c[arm] <- v
	}
	return n
}

func select8Ready(n int) int {
	var c [8]chan int
	full(c[:])
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	c4, c5, c6, c7 := c[4], c[5], c[6], c[7]
	for i := 0; i < n; i++ {
		var v, arm int
		select {
		case v = <-c0:
			arm = 0
		case v = <-c1:
			arm = 1
		case v = <-c2:
			arm = 2
		case v = <-c3:
			arm = 3
		case v = <-c4:
			arm = 4
		case v = <-c5:
			arm = 5
		case v = <-c6:
			arm = 6
		case v = <-c7:
			arm = 7
		}
		check(v == arm, "value of the arm")
		c[arm] <- v
	}
	return n
}

func selectDefault(n int) int {
	c := make(chan int, 1)
	empty := 0
	for i := 0; i < n; i++ {
		select {
		case <-c:
		default:
			empty++
		}
	}
	return empty
}

func mutex(n int) int {
	var lock sync.Mutex
	count := new(int)
	for i := 0; i < n; i++ {
		lock.Lock()
		*count++
		lock.Unlock()
	}
	return *count
}

func mutexYield(n int) int {
	var lock sync.Mutex
	var wg sync.WaitGroup
	count, rounds := 0, share(n, 4)
	wg.Add(4)
	for i := 0; i < 4; i++ {
		go func() {
			for i := 0; i < rounds; i++ {
				lock.Lock()
				seen := count
				runtime.Gosched()
				count = seen + 1
				lock.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	return count
}

func timer(n int) int {
	stopped := 0
	for i := 0; i < n; i++ {
		t := time.NewTimer(time.Hour)
		if t.Stop() {
			stopped++
		}
	}
	return stopped
}

func timer100k(n int) int {
	live := make([]*time.Timer, 100000)
	for i := range live {
		live[i] = time.NewTimer(time.Hour/2 + 72*1000*spanOf(i))
	}
	begin = time.Now()
	stopped := timer(n)
	end = time.Now()
	for _, t := range live {
		t.Stop()
	}
	return stopped
}
