package main

func goRecv(n int) int {
	c := make(chan int)
	sum := 0
	for i := 0; i < n; i++ {
		go func() { c <- 1 }()
		sum += <-c
	}
	return sum
}

func bufferedSame(n int) int {
	c := make(chan int, 1)
	sum := 0
	for i := 0; i < n; i++ {
		c <- i
		sum += <-c
	}
	check(sum == n*(n-1)/2, "sum of the items")
	return n
}

func select2Send(n int) int {
	a, b := make(chan int), make(chan int)
	go func() {
		for i := 0; i < n; i++ {
			if i&1 == 0 {
				a <- i
			} else {
				b <- i
			}
		}
	}()
	sum := 0
	for i := 0; i < n; i++ {
		select {
		case v := <-a:
			sum += v
		case v := <-b:
			sum += v
		}
	}
	check(sum == n*(n-1)/2, "sum of the messages")
	return n
}
