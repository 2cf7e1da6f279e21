// A comparison called from the standard library, on goroutines' stacks, deep enough for them to have been moved.
package main

import "sort"

var sink int

//go:noinline
func here(n int) int {
	sink += n
	return sink
}

type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return here(n[i]) >= 0 && n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

//go:noinline
func down(n int) int {
	var space [100]int
	space[n%100] = n
	if n == 0 {
		sort.Sort(numbers{3, 1, 2})
		return here(1)
	}
	return down(n-1) + space[n%100]
}

func deferred() {
	here(2)
	recover()
}

//go:noinline
func panics(where []int) int {
	defer deferred()
	return where[sink]
}

func main() {
	done := make(chan int)
	go func() { done <- down(50) }()
	<-done
	panics(nil)
	println(sink)
}
