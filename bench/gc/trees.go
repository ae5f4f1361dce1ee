// SPDX-License-Identifier: MIT

// trees WORKERS DEPTH: as trees.c.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const least = 4

type tree struct {
	left, right *tree
}

func makeTree(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{makeTree(depth - 1), makeTree(depth - 1)}
}

func (t *tree) count() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.count() + t.right.count()
}

func number(i int) int {
	if i >= len(os.Args) {
		panic("wrong arguments: the head of trees.c has them")
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil || n < 1 {
		panic("wrong arguments: the head of trees.c has them")
	}
	return n
}

func worker(id, workers, deepest int) int {
	keep := makeTree(deepest - 1)
	n := 0
	for depth := least; depth <= deepest; depth += 2 {
		for i := id; i < 1<<(deepest-depth+least); i += workers {
			n += makeTree(depth).count()
		}
	}
	return n + keep.count()
}

func expected(workers, deepest int) int {
	n := workers * (1<<deepest - 1)
	for depth := least; depth <= deepest; depth += 2 {
		n += (2<<depth - 1) << (deepest - depth + least)
	}
	return n
}

func main() {
	workers, deepest := number(1), number(2)
	counted := make([]int, workers)
	var wg sync.WaitGroup
	wg.Add(workers)
	began := time.Now()
	for i := 0; i < workers; i++ {
		go func(id int) {
			counted[id] = worker(id, workers, deepest)
			wg.Done()
		}(i)
	}
	wg.Wait()
	ms := float64(time.Since(began).Nanoseconds()) / 1e6
	n := 0
	for _, c := range counted {
		n += c
	}
	if n != expected(workers, deepest) {
		panic("nodes are missing")
	}
	fmt.Printf("trees %.1f ms\n", ms)
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	fmt.Printf("trees_memory %.1f MB\n", float64(u.Maxrss)/1024)
}
