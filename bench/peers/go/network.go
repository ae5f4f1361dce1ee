// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A server on loopback that sends back what it gets, and its clients.

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func serve(c net.Conn) {
	b := make([]byte, 64)
	for {
		n, err := c.Read(b)
		if err != nil {
			c.Close()
			return
		}
		c.Write(b[:n])
	}
}

// listen accepts connections until it is closed, and counts them.
func listen(accepted *int64) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
			atomic.AddInt64(accepted, 1)
		}
	}()
	return l
}

func dial(l net.Listener) net.Conn {
	c, err := net.Dial("tcp", l.Addr().String())
	must(err)
	return c
}

// trip is a message there and back.
func trip(c net.Conn, b []byte) {
	c.Write(b)
	for n := 0; n < len(b); {
		k, err := c.Read(b)
		must(err)
		n += k
	}
}

// echo has all connected before the clock starts, if not yet accepted.
func echo(conns, trips int) {
	var accepted int64
	l := listen(&accepted)
	defer l.Close()
	cs := make([]net.Conn, conns)
	for i := range cs {
		cs[i] = dial(l)
	}
	var wg sync.WaitGroup
	t := time.Now()
	for _, c := range cs {
		wg.Add(1)
		go func(c net.Conn) {
			b := make([]byte, 64)
			for i := 0; i < trips; i++ {
				trip(c, b)
			}
			c.Close()
			wg.Done()
		}(c)
	}
	wg.Wait()
	nsop(fmt.Sprintf("echo_%dconn", conns), conns*trips, time.Since(t))
}

// tripBeside is how long a round trip takes beside endless loops with no calls.
func tripBeside(name string, before func()) {
	var accepted int64
	l := listen(&accepted)
	defer l.Close()
	c := dial(l)
	defer c.Close()
	b := make([]byte, 64)
	trip(c, b)
	beside(name, spinner, func() time.Duration {
		before()
		t := time.Now()
		trip(c, b)
		return time.Since(t)
	})
}

func netload() {
	tripBeside("net_late", func() {})
}

func netpaced() {
	tripBeside("net_paced", func() { time.Sleep(time.Millisecond) })
}

// idle has n connections on which nothing happens: what one takes of memory,
// and how long a round trip takes on another one meanwhile. Their other ends
// are a process of its own.
func idle(n, trips int) {
	var accepted int64
	l := listen(&accepted)
	defer l.Close()
	c := dial(l)
	b := make([]byte, 64)
	for i := 0; i < 100; i++ {
		trip(c, b)
	}
	r0 := rss() + pagetables()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	crowd := exec.Command("/proc/self/exe", "idle_client", port, strconv.Itoa(n))
	crowd.Stderr = os.Stderr
	in, err := crowd.StdinPipe()
	must(err)
	must(crowd.Start())
	for atomic.LoadInt64(&accepted) <= int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	r1 := rss() + pagetables()
	fmt.Printf("%-16s %10.1f bytes\n", "idle_mem", float64(r1-r0)/float64(n))
	took := make([]time.Duration, trips)
	for i := range took {
		t := time.Now()
		trip(c, b)
		took[i] = time.Since(t)
	}
	p50p99("idle_rtt", took, time.Microsecond, "us")
	in.Close()
	must(crowd.Wait())
}

// idleClient is the other end of idle connections, until its standard input
// ends.
func idleClient(port, count string) {
	n, err := strconv.Atoi(count)
	must(err)
	cs := make([]net.Conn, n)
	for i := range cs {
		cs[i], err = net.Dial("tcp", "127.0.0.1:"+port)
		must(err)
	}
	io.Copy(io.Discard, os.Stdin)
	for _, c := range cs {
		c.Close()
	}
}
