// SPDX-License-Identifier: MIT

// alloc WORKERS OBJECTS: as alloc.c.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const most = 64

// A cache line for each.
var kept [most]struct {
	last *[4]uint64
	_    [56]byte
}

func number(i int) int {
	if i >= len(os.Args) {
		panic("wrong arguments: the head of alloc.c has them")
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil || n < 1 {
		panic("wrong arguments: the head of alloc.c has them")
	}
	return n
}

func worker(id, share int) {
	for i := 0; i < share; i++ {
		p := new([4]uint64)
		p[0] = uint64(i)
		kept[id].last = p
	}
}

func main() {
	workers, objects := number(1), number(2)
	share := (objects + workers - 1) / workers
	var wg sync.WaitGroup
	wg.Add(workers)
	began := time.Now()
	for i := 0; i < workers; i++ {
		go func(id int) {
			worker(id, share)
			wg.Done()
		}(i)
	}
	wg.Wait()
	ns := float64(time.Since(began).Nanoseconds())
	fmt.Printf("alloc %.2f ns\n", ns/float64(share*workers))
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	fmt.Printf("alloc_memory %.1f MB\n", float64(u.Maxrss)/1024)
}
