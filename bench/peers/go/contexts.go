package main

import (
	"context"
	"time"
)

func init() {
	table = append(table,
		bench{"context_cancel", contextCancel, 0, false},
		bench{"context_timeout", contextTimeout, 0, false})
}

func contextCancel(n int) int {
	background, ended := context.Background(), 0
	for i := 0; i < n; i++ {
		ctx, cancel := context.WithCancel(background)
		cancel()
		if ctx.Err() == context.Canceled {
			ended++
		}
	}
	return ended
}

func contextTimeout(n int) int {
	background, ended := context.Background(), 0
	for i := 0; i < n; i++ {
		ctx, cancel := context.WithTimeout(background, time.Hour)
		cancel()
		if ctx.Err() == context.Canceled {
			ended++
		}
	}
	return ended
}
