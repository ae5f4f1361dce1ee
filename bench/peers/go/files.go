// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The file of the workload files, and in which order its blocks are read: as
// bench/files_data.h has it.
const (
	filesBlock     = 4096
	filesBlocks    = 16384
	filesCachedOps = 400000
	filesAloneOps  = 4096
	fadvRandom     = 1
	fadvDontneed   = 4
)

func fadvise(f *os.File, how uintptr) {
	syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, how, 0, 0)
}

func filesOrder() []uint32 {
	order := make([]uint32, filesBlocks)
	x := uint64(88172645463325252)
	for i := range order {
		order[i] = uint32(i)
	}
	for i := uint64(filesBlocks - 1); i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		j := x % (i + 1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

func filesMake() *os.File {
	dir := os.Getenv("TMPDIR")
	if dir == "" {
		dir = "/var/tmp"
	}
	f, err := os.CreateTemp(dir, "weft-files-")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	block := make([]byte, filesBlock)
	for i := 0; i < filesBlocks; i++ {
		binary.LittleEndian.PutUint32(block, uint32(i))
		if _, err := f.Write(block); err != nil {
			panic(err)
		}
	}
	f.Sync()
	fadvise(f, fadvRandom)
	return f
}

func filesPrepare(f *os.File, cached bool) {
	if !cached {
		fadvise(f, fadvDontneed)
		return
	}
	buf := make([]byte, 64*filesBlock)
	for at := int64(0); at < filesBlocks*filesBlock; at += int64(len(buf)) {
		f.ReadAt(buf, at)
	}
}

func filesRead(f *os.File, order []uint32, name string, ops, readers int) {
	var wg sync.WaitGroup
	var right int64
	t := time.Now()
	for i := 0; i < readers; i++ {
		wg.Add(1)
		go func(first int) {
			defer wg.Done()
			buf := make([]byte, filesBlock)
			for op := first; op < ops; op += readers {
				block := order[op%filesBlocks]
				n, _ := f.ReadAt(buf, int64(block)*filesBlock)
				if n == filesBlock && binary.LittleEndian.Uint32(buf) == block {
					atomic.AddInt64(&right, 1)
				}
			}
		}(i)
	}
	wg.Wait()
	nsop(name, ops, time.Since(t))
	if right != int64(ops) {
		panic("files")
	}
}

// files has 1, 16 and 256 goroutines read blocks in a random order, from the
// page cache and from the disk.
func files() {
	f, order := filesMake(), filesOrder()
	for _, cached := range []bool{true, false} {
		for _, readers := range []int{1, 16, 256} {
			name, ops := "uncached", filesBlocks
			if cached {
				name, ops = "cached", filesCachedOps
			} else if readers == 1 {
				ops = filesAloneOps
			}
			filesPrepare(f, cached)
			filesRead(f, order, fmt.Sprintf("files_%s_%d", name, readers), ops, readers)
		}
	}
	f.Close()
}
