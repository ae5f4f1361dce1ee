// SPDX-License-Identifier: MIT

// The workloads in Go, which the other programs follow in name and size.
//
// Usage: go [WORKLOAD [PROCS]]
//
// Some workloads run more than once: the last line of a name is the warm one.
// files, which writes to the disk, lateness, a distribution and not a cost, and
// idle, whose memory others would
// have left, run only when asked for by name.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func nsop(name string, n int, d time.Duration) {
	fmt.Printf("%-16s %10.1f ns/op\n", name, float64(d.Nanoseconds())/float64(n))
}

func ms(name string, d time.Duration) {
	fmt.Printf("%-16s %10.1f ms\n", name, float64(d.Microseconds())/1e3)
}

func spawn(n int) {
	var wg sync.WaitGroup
	t := time.Now()
	for i := 0; i < n; i++ {
		wg.Add(1)
		go wg.Done()
	}
	wg.Wait()
	nsop("spawn", n, time.Since(t))
}

// spawnjoin spawns one child and waits for it, again and again.
func spawnjoin(n int) {
	t := time.Now()
	done := make(chan struct{})
	for i := 0; i < n; i++ {
		go func() { done <- struct{}{} }()
		<-done
	}
	nsop("spawnjoin", n, time.Since(t))
}

func yield(n int) {
	var wg sync.WaitGroup
	t := time.Now()
	for g := 0; g < 4; g++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/4; i++ {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	nsop("yield", n, time.Since(t))
}

func pingpong(n int) {
	a, b := make(chan int), make(chan int)
	go func() {
		for v := range a {
			b <- v
		}
		close(b)
	}()
	t := time.Now()
	for i := 0; i < n; i++ {
		a <- i
		<-b
	}
	nsop("pingpong", n, time.Since(t))
	close(a)
}

func ring(n int) {
	const k = 503
	first := make(chan int)
	in := first
	done := make(chan int)
	for i := 0; i < k; i++ {
		out := make(chan int)
		if i == k-1 {
			out = first
		}
		go func(in, out chan int) {
			for {
				v := <-in
				if v == 0 {
					done <- 1
					return
				}
				out <- v - 1
			}
		}(in, out)
		in = out
	}
	t := time.Now()
	first <- n
	<-done
	nsop("ring", n, time.Since(t))
}

func spsc(n int) {
	c := make(chan int, 128)
	t := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			c <- i
		}
		close(c)
	}()
	s := 0
	for v := range c {
		s += v
	}
	nsop("chan_spsc128", n, time.Since(t))
}

func mpmc(n int) {
	c := make(chan int, 128)
	var wg, rg sync.WaitGroup
	t := time.Now()
	for p := 0; p < 4; p++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/4; i++ {
				c <- i
			}
			wg.Done()
		}()
	}
	for p := 0; p < 4; p++ {
		rg.Add(1)
		go func() {
			for range c {
			}
			rg.Done()
		}()
	}
	wg.Wait()
	close(c)
	rg.Wait()
	nsop("chan_mpmc128", n, time.Since(t))
}

func selectN(n int) {
	var cs [4]chan int
	for i := range cs {
		cs[i] = make(chan int)
		go func(c chan int) {
			for i := 0; i < n/4; i++ {
				c <- i
			}
		}(cs[i])
	}
	t := time.Now()
	for i := 0; i < n; i++ {
		select {
		case <-cs[0]:
		case <-cs[1]:
		case <-cs[2]:
		case <-cs[3]:
		}
	}
	nsop("select4", n, time.Since(t))
}

func sky(c chan int, num, size int) {
	if size == 1 {
		c <- num
		return
	}
	rc := make(chan int)
	sum := 0
	for i := 0; i < 10; i++ {
		go sky(rc, num+i*(size/10), size/10)
	}
	for i := 0; i < 10; i++ {
		sum += <-rc
	}
	c <- sum
}

func skynet() {
	c := make(chan int)
	t := time.Now()
	go sky(c, 0, 1000000)
	if r := <-c; r != 499999500000 {
		panic(r)
	}
	ms("skynet1M", time.Since(t))
}

func sieve(n int) {
	t := time.Now()
	ch := make(chan int)
	quit := int32(0)
	go func(ch chan int) {
		for i := 2; atomic.LoadInt32(&quit) == 0; i++ {
			ch <- i
		}
	}(ch)
	for i := 0; i < n; i++ {
		prime := <-ch
		ch1 := make(chan int)
		go func(in, out chan int, p int) {
			for {
				v := <-in
				if v%p != 0 {
					out <- v
				}
			}
		}(ch, ch1, prime)
		ch = ch1
	}
	ms("sieve"+strconv.Itoa(n), time.Since(t))
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	c := make(chan int, 1)
	go func() { c <- fib(n - 1) }()
	b := fib(n - 2)
	return <-c + b
}

func fibpar() {
	t := time.Now()
	fib(27)
	ms("fib27", time.Since(t))
}

func mutex(n int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	x := 0
	t := time.Now()
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/8; i++ {
				mu.Lock()
				x++
				mu.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	nsop("mutex8", n, time.Since(t))
}

func sleepers(n int) {
	var wg sync.WaitGroup
	t := time.Now()
	for i := 0; i < n; i++ {
		wg.Add(1)
		d := time.Duration(1+i%1000) * time.Microsecond * 100
		go func() { time.Sleep(d); wg.Done() }()
	}
	wg.Wait()
	nsop("sleep_many", n, time.Since(t))
}

func timerchurn(n int) {
	t := time.Now()
	for i := 0; i < n; i++ {
		tm := time.AfterFunc(time.Hour, func() {})
		tm.Stop()
	}
	nsop("timer_churn", n, time.Since(t))
}

func rss() int {
	b, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	p, _ := strconv.Atoi(f[1])
	return p * 4096
}

func pagetables() int {
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmPTE:") {
			f := strings.Fields(l)
			k, _ := strconv.Atoi(f[1])
			return k * 1024
		}
	}
	return 0
}

func parked(n int) {
	g0 := runtime.NumGoroutine()
	r0 := rss() + pagetables()
	c := make(chan int)
	var ready int64
	t := time.Now()
	for i := 0; i < n; i++ {
		go func() { atomic.AddInt64(&ready, 1); <-c }()
	}
	for atomic.LoadInt64(&ready) < int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	d := time.Since(t)
	r1 := rss() + pagetables()
	fmt.Printf("%-16s %10.1f bytes/g\n", "parked_mem", float64(r1-r0)/float64(n))
	nsop("parked_spawn", n, d)
	t = time.Now()
	close(c)
	for runtime.NumGoroutine() > g0 {
		runtime.Gosched()
	}
	nsop("parked_wake", n, time.Since(t))
}

//go:noinline
func spin(stop *int32, x *uint64) {
	for {
		*x += 3
		if *x == 1 {
			return
		}
		if atomic.LoadInt32(stop) != 0 {
			return
		}
	}
}

func spinner(stop *int32) {
	var x uint64
	spin(stop, &x)
}

// beside has two hogs for every P, and this goroutine call once 500 times: how
// late was it? A hog returns soon after stop is set.
func beside(name string, hog func(stop *int32), once func() time.Duration) {
	var stop int32
	var wg sync.WaitGroup
	for i := 0; i < 2*runtime.GOMAXPROCS(0); i++ {
		wg.Add(1)
		go func() { hog(&stop); wg.Done() }()
	}
	late := make([]time.Duration, 500)
	for i := range late {
		late[i] = once()
	}
	atomic.StoreInt32(&stop, 1)
	p50p99(name, late, time.Millisecond, "ms")
	wg.Wait()
}

// p50p99 sorts and prints.
func p50p99(name string, late []time.Duration, unit time.Duration, text string) {
	sort.Slice(late, func(i, k int) bool { return late[i] < late[k] })
	p50, p99 := late[len(late)/2], late[len(late)*99/100-1]
	fmt.Printf("%-16s %10.3f %s p50  %.3f %s p99\n", name, float64(p50)/float64(unit), text,
		float64(p99)/float64(unit), text)
}

// sleepBeside sleeps 1 ms.
func sleepBeside(name string, hog func(stop *int32)) {
	beside(name, hog, func() time.Duration {
		t := time.Now()
		time.Sleep(time.Millisecond)
		return time.Since(t) - time.Millisecond
	})
}

// preempt has endless loops with no calls.
func preempt() {
	sleepBeside("preempt_late", spinner)
}

// syscallcost is what a short system call through the runtime takes.
func syscallcost(n int) {
	fd, _ := syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
	var b [1]byte
	t := time.Now()
	for i := 0; i < n; i++ {
		syscall.Read(fd, b[:])
	}
	nsop("syscall_read1", n, time.Since(t))
}

// sysblock has 64 goroutines block 5 ms in a system call, 20 times each.
func sysblock() {
	var wg sync.WaitGroup
	t := time.Now()
	for i := 0; i < 64; i++ {
		wg.Add(1)
		go func() {
			for k := 0; k < 20; k++ {
				ts := syscall.Timespec{Nsec: 5000000}
				syscall.Nanosleep(&ts, nil)
			}
			wg.Done()
		}()
	}
	wg.Wait()
	fmt.Printf("%-16s %10.1f ms (ideal 100)\n", "sysblock64", float64(time.Since(t).Microseconds())/1e3)
}

type workload struct {
	name string
	run  func()
}

var workloads = []workload{
	{"spawn", func() { spawn(200000); spawn(3000000) }},
	{"spawnjoin", func() { spawnjoin(1000000) }},
	{"yield", func() { yield(8000000) }},
	{"pingpong", func() { pingpong(2000000) }},
	{"ring", func() { ring(3000000) }},
	{"spsc", func() { spsc(10000000) }},
	{"mpmc", func() { mpmc(4000000) }},
	{"select", func() { selectN(2000000) }},
	{"skynet", func() { skynet(); skynet(); skynet() }},
	{"sieve", func() { sieve(1500) }},
	{"fib", func() { fibpar(); fibpar() }},
	{"mutex", func() { mutex(8000000) }},
	{"sleepers", func() { sleepers(500000) }},
	{"timers", func() { timerchurn(5000000) }},
	{"parked", func() { parked(1000000) }},
	{"echo", func() { echo(64, 5000); echo(1000, 300) }},
	{"netload", func() { netload() }},
	{"netpaced", func() { netpaced() }},
	{"preempt", func() { preempt() }},
	{"syscall", func() { syscallcost(3000000) }},
	{"sysblock", func() { sysblock() }},
	{"fib_future", func() { fibFuture(); fibFuture(); fibFuture() }},
	{"skynet_future", func() { skynetFuture(); skynetFuture(); skynetFuture() }},
	{"spawnjoin_future", func() { spawnjoinFuture(1000000) }},
	{"pfor", func() { pfors() }},
	{"files", func() { files() }},
	{"idle", func() { idle(18000, 10000) }},
	{"lateness", func() { lateness() }},
}

// alone says what is not among all workloads.
func alone(name string) bool {
	return name == "files" || name == "idle" || name == "lateness"
}

func main() {
	asked := "all"
	if len(os.Args) > 1 {
		asked = os.Args[1]
	}
	if asked == "version" {
		fmt.Println("Go", strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	if asked == "idle_client" {
		idleClient(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) > 2 {
		procs, _ := strconv.Atoi(os.Args[2])
		runtime.GOMAXPROCS(procs)
	}
	for _, w := range workloads {
		if asked == w.name || asked == "all" && !alone(w.name) {
			w.run()
		}
	}
}
