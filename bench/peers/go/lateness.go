// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/bits"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How late timers are, as a distribution: for each case the percentiles in
// lines of their own, then a histogram whose classes double in width.

// report prints a case.
func report(name, what string, late []time.Duration) {
	points := []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}}

	sort.Slice(late, func(i, k int) bool { return late[i] < late[k] })
	fmt.Printf("  %s: %s\n", name, what)
	for _, p := range points {
		at := int(float64(len(late)) * p.part)
		if at >= len(late) {
			at = len(late) - 1
		}
		fmt.Printf("%-16s %10.1f us\n", name+"_"+p.name, float64(late[at].Nanoseconds())/1e3)
	}
	histogram(late)
}

// class 0 is below a microsecond, class i is 2^(i-1) to 2^i of them.
func class(d time.Duration) int {
	if d < 0 {
		return 0
	}
	return bits.Len64(uint64(d.Microseconds()))
}

func histogram(late []time.Duration) {
	var count [65]int
	most := 1
	first, last := class(late[0]), class(late[len(late)-1])
	for _, d := range late {
		count[class(d)]++
	}
	for _, n := range count {
		if n > most {
			most = n
		}
	}
	for i := first; i <= last; i++ {
		fmt.Printf("  %8d us.. %8d %s\n", 1<<i/2, count[i], strings.Repeat("#", count[i]*50/most))
	}
}

func lateSleeper(d time.Duration, late []time.Duration) {
	for i := range late {
		t := time.Now()
		time.Sleep(d)
		late[i] = time.Since(t) - d
	}
}

// lateTicked reckons from when a tick was given to when the next one is due:
// the ticker leaves out what it missed. Its times begin a little after ours,
// hence the step back.
func lateTicked(d time.Duration, late []time.Duration) {
	start := time.Now()
	due := start.Add(d)
	t := time.NewTicker(d)
	for i := range late {
		given := <-t.C
		late[i] = time.Since(due)
		if late[i] < 0 {
			late[i] += d
		}
		due = start.Add((given.Sub(start)/d + 1) * d)
	}
	t.Stop()
}

// lateOne is one goroutine, n times.
func lateOne(name, what string, d time.Duration, n int) {
	late := make([]time.Duration, n)
	done := make(chan struct{})
	go func() { lateSleeper(d, late); close(done) }()
	<-done
	report(name, what, late)
}

// lateMany is a thousand goroutines, each with a time of its own, for a second.
func lateMany(name, what string, fn func(time.Duration, []time.Duration)) {
	period := func(i int) time.Duration {
		return time.Millisecond + time.Duration(i)*9*time.Microsecond
	}
	n := 0
	for i := 0; i < 1000; i++ {
		n += int(time.Second / period(i))
	}
	late := make([]time.Duration, n)
	var wg sync.WaitGroup
	rest := late
	for i := 0; i < 1000; i++ {
		wg.Add(1)
		d, mine := period(i), rest[:time.Second/period(i)]
		rest = rest[len(mine):]
		go func() { fn(d, mine); wg.Done() }()
	}
	wg.Wait()
	report(name, what, late)
}

// latePinger never pauses until it is told to quit.
func latePinger(quit *int32) {
	a, b := make(chan int), make(chan int)
	go func() {
		for v := range a {
			b <- v
		}
	}()
	for i := 0; atomic.LoadInt32(quit) == 0; i++ {
		a <- i
		<-b
	}
	close(a)
}

// lateBusy runs beside a pair of goroutines for every P that never pauses.
func lateBusy(name, what string) {
	const sleepers, each = 16, 250
	late := make([]time.Duration, sleepers*each)
	var quit int32
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		go latePinger(&quit)
	}
	var wg sync.WaitGroup
	for i := 0; i < sleepers; i++ {
		wg.Add(1)
		mine := late[i*each : (i+1)*each]
		go func() { lateSleeper(time.Millisecond, mine); wg.Done() }()
	}
	wg.Wait()
	atomic.StoreInt32(&quit, 1)
	report(name, what, late)
}

func lateAfter(name, what string, d time.Duration, n int) {
	late := make([]time.Duration, n)
	c := make(chan time.Duration)
	for i := range late {
		start := time.Now()
		time.AfterFunc(d, func() { c <- time.Since(start) - d })
		late[i] = <-c
	}
	report(name, what, late)
}

func lateness() {
	lateOne("late_50us", "one goroutine sleeps 50 us", 50*time.Microsecond, 2000)
	lateOne("late_1ms", "one goroutine sleeps 1 ms", time.Millisecond, 1000)
	lateAfter("late_func", "one function is called after 1 ms", time.Millisecond, 1000)
	lateMany("late_many", "1000 goroutines sleep 1 to 10 ms", lateSleeper)
	lateMany("late_tick", "1000 tickers of 1 to 10 ms", lateTicked)
	lateBusy("late_busy", "16 sleep 1 ms beside ping-pong on all processors")
}
