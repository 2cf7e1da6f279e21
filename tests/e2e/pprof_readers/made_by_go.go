// made_by_go FOLDER [MS] writes go_cpu.pb.gz (labelled) and go_heap.pb.gz there by Go's own runtime/pprof, after twice MS
// (300) of CPU time.
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

var kept [][]byte

// In CPU time, so that there are samples on a busy machine too.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	return time.Duration(used.Utime.Nano())
}

//go:noinline
func spin(cpu time.Duration) (n uint64) {
	for end := cpuTime() + cpu; cpuTime() < end; {
		for i := uint64(0); i < 100000; i++ {
			n += i * n
		}
	}
	return n
}

func create(folder, name string) *os.File {
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		log.Fatal(err)
	}
	return f
}

func spinTime() time.Duration {
	if len(os.Args) < 3 {
		return 300 * time.Millisecond
	}
	ms, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}

func main() {
	runtime.MemProfileRate = 1
	each := spinTime()
	f := create(os.Args[1], "go_cpu.pb.gz")
	if err := pprof.StartCPUProfile(f); err != nil {
		log.Fatal(err)
	}
	spin(each)
	pprof.Do(context.Background(), pprof.Labels("phase", "checkpoint", "rank", "3"), func(context.Context) {
		spin(each)
	})
	pprof.StopCPUProfile()
	f.Close()

	for i := 0; i < 100; i++ {
		kept = append(kept, make([]byte, 1000+i))
	}
	f = create(os.Args[1], "go_heap.pb.gz")
	if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
		log.Fatal(err)
	}
	f.Close()
	runtime.KeepAlive(kept)
}
