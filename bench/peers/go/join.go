// SPDX-License-Identifier: MIT

// Fork and join without channels: a result is a variable, and a WaitGroup
// tells when it is there.
package main

import (
	"strconv"
	"sync"
	"time"
)

func fibJoined(n int) int {
	if n < 2 {
		return n
	}
	var wg sync.WaitGroup
	var left int
	wg.Add(1)
	go func() { left = fibJoined(n - 1); wg.Done() }()
	right := fibJoined(n - 2)
	wg.Wait()
	return left + right
}

func fibFuture() {
	t := time.Now()
	r := fibJoined(27)
	ms("fib27_future", time.Since(t))
	expect(r, 196418)
}

func skyJoined(num, size int) int {
	if size == 1 {
		return num
	}
	var wg sync.WaitGroup
	var part [10]int
	wg.Add(len(part))
	for i := range part {
		go func(i int) {
			part[i] = skyJoined(num+i*(size/10), size/10)
			wg.Done()
		}(i)
	}
	wg.Wait()
	sum := 0
	for _, each := range part {
		sum += each
	}
	return sum
}

func skynetFuture() {
	t := time.Now()
	r := skyJoined(0, 1000000)
	ms("skynet_future", time.Since(t))
	expect(r, 499999500000)
}

func spawnjoinFuture(n int) {
	var wg sync.WaitGroup
	done := 0
	t := time.Now()
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func() { done++; wg.Done() }()
		wg.Wait()
	}
	nsop("spawnjoin_future", n, time.Since(t))
	expect(done, n)
}

const (
	pforElements = 100000000
	pforRanges   = 1000
)

//go:noinline
func pforSum(v []int32) int {
	sum := 0
	for _, each := range v {
		sum += int(each)
	}
	return sum
}

// pfor sums in ranges, a goroutine for each.
func pfor(v []int32) {
	var wg sync.WaitGroup
	var part [pforRanges]int
	const length = pforElements / pforRanges
	t := time.Now()
	wg.Add(pforRanges)
	for i := range part {
		go func(i int) {
			part[i] = pforSum(v[i*length : (i+1)*length])
			wg.Done()
		}(i)
	}
	wg.Wait()
	sum := 0
	for _, each := range part {
		sum += each
	}
	ms("pfor", time.Since(t))
	const whole, rest = pforElements / 1024, pforElements % 1024
	expect(sum, whole*(1023*1024/2)+rest*(rest-1)/2)
}

func pfors() {
	v := make([]int32, pforElements)
	for i := range v {
		v[i] = int32(i % 1024)
	}
	for i := 0; i < 3; i++ {
		pfor(v)
	}
}

func expect(got, want int) {
	if got != want {
		panic("got " + strconv.Itoa(got) + ", not " + strconv.Itoa(want))
	}
}
