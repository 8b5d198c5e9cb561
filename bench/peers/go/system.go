package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// status is a number of a status file, by its name with the colon.
func status(path, name string) (value float64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, name) {
			value, err = strconv.ParseFloat(strings.Fields(line)[1], 64)
			return value, err == nil
		}
	}
	return 0, false
}

// memory is a size of /proc/self/status in bytes.
func memory(name string) float64 {
	value, ok := status("/proc/self/status", name)
	check(ok, "cannot read /proc/self/status")
	return value * 1024
}

func cpuMs() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil, "getrusage")
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// sleeps is how often the threads of this process, but for the calling one,
// have gone to sleep.
func sleeps() float64 {
	tasks, err := os.ReadDir("/proc/self/task")
	check(err == nil, "cannot read /proc/self/task")
	self, sum := strconv.Itoa(syscall.Gettid()), 0.0
	for _, task := range tasks {
		if task.Name() == self {
			continue
		}
		count, _ := status("/proc/self/task/"+task.Name()+"/status",
			"voluntary_ctxt_switches:")
		sum += count
	}
	return sum
}

// pause sleeps in the kernel, behind the runtime's back.
func pause(span time.Duration) {
	t := syscall.NsecToTimespec(span.Nanoseconds())
	for syscall.Nanosleep(&t, &t) == syscall.EINTR {
	}
}

type idleFigures struct{ wakes, cpuMs float64 }

// watchIdle counts how often a second all other threads wake while they should
// not, and the CPU time taken.
func watchIdle(span time.Duration, figures chan<- idleFigures) {
	runtime.LockOSThread()
	pause(span / 4)
	before, cpu := sleeps(), cpuMs()
	pause(span)
	cpu = cpuMs() - cpu
	figures <- idleFigures{(sleeps() - before) / span.Seconds(),
		cpu / span.Seconds()}
}
