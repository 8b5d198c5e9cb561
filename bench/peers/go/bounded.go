package main

import (
	"context"
	"sync"
)

// bounded is tasks of which the first that fails cancels the others, at most
// limit of them at once: what programs in Go take from a package of that kind.
type bounded struct {
	running sync.WaitGroup
	slots   chan struct{}
	once    sync.Once
	err     error
	cancel  context.CancelFunc
}

// newBounded makes one; limit 0: none.
func newBounded(limit int) (*bounded, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	g := &bounded{cancel: cancel}
	if limit > 0 {
		g.slots = make(chan struct{}, limit)
	}
	return g, ctx
}

// run starts a task; it waits while limit of them run.
func (g *bounded) run(task func() error) {
	if g.slots != nil {
		g.slots <- struct{}{}
	}
	g.running.Add(1)
	go func() {
		defer g.ended()
		if err := task(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel()
			})
		}
	}()
}

func (g *bounded) ended() {
	if g.slots != nil {
		<-g.slots
	}
	g.running.Done()
}

// wait returns the first error once all tasks have ended.
func (g *bounded) wait() error {
	g.running.Wait()
	g.cancel()
	return g.err
}
