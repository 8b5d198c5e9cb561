package main

import (
	"context"
	"sync"
	"time"
)

func rwmutexRead(n int) int {
	var lock sync.RWMutex
	count := new(int)
	for i := 0; i < n; i++ {
		lock.RLock()
		*count++
		lock.RUnlock()
	}
	return *count
}

func rwmutexWrite(n int) int {
	var lock sync.RWMutex
	count := new(int)
	for i := 0; i < n; i++ {
		lock.Lock()
		*count++
		lock.Unlock()
	}
	return *count
}

// sema: a channel of tokens, as the standard library has no semaphore.
func sema(n int) int {
	tokens := make(chan struct{}, 10)
	count := new(int)
	for i := 0; i < n; i++ {
		tokens <- struct{}{}
		*count++
		<-tokens
	}
	return *count
}

func waitgroup(n int) int {
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		wg.Add(1)
		wg.Done()
	}
	wg.Wait()
	return n
}

func onceDone(n int) int {
	var once sync.Once
	count := 0
	for i := 0; i < n; i++ {
		once.Do(func() { count++ })
	}
	check(count == 1, "it ran once")
	return n
}

// future: a value, and a channel that is closed when it is there.
type future struct {
	done  chan struct{}
	value int
}

func futures(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		f := &future{done: make(chan struct{})}
		f.value = i
		close(f.done)
		<-f.done
		sum += f.value
	}
	check(sum == n*(n-1)/2, "sum of the values")
	return n
}

type barrier struct {
	lock       sync.Mutex
	all        sync.Cond
	here, turn int
}

func (b *barrier) wait(parties int) {
	b.lock.Lock()
	turn := b.turn
	b.here++
	if b.here == parties {
		b.here = 0
		b.turn++
		b.all.Broadcast()
	}
	for turn == b.turn {
		b.all.Wait()
	}
	b.lock.Unlock()
}

func barriers(n int) int {
	var b barrier
	var wg sync.WaitGroup
	b.all.L = &b.lock
	wg.Add(4)
	for i := 0; i < 4; i++ {
		go func() {
			for i := 0; i < n; i++ {
				b.wait(4)
			}
			wg.Done()
		}()
	}
	wg.Wait()
	return n
}

// group is what golang.org/x/sync/errgroup has, without a limit.
type group struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

func withContext(ctx context.Context) (*group, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &group{cancel: cancel}, ctx
}

func (g *group) spawn(fn func() error) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if err := fn(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel()
			})
		}
	}()
}

func (g *group) wait() error {
	g.wg.Wait()
	g.cancel()
	return g.err
}

func workgroup1(n int) int {
	count := 0
	for i := 0; i < n; i++ {
		g, _ := withContext(context.Background())
		g.spawn(func() error {
			count++
			return nil
		})
		check(g.wait() == nil, "wait")
	}
	return count
}

func timerFire(n int) int {
	for i := 0; i < n; i++ {
		t := time.NewTimer(1)
		<-t.C
		t.Stop()
	}
	return n
}
