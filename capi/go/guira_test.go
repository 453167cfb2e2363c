package guira

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

func open(t testing.TB, options Options) *Filter {
	t.Helper()
	seed := uint64(7)
	options.Seed = &seed
	f, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// each runs a test for filters without a TTL, and for those with one.
func each(t *testing.T, test func(t *testing.T, ttl time.Duration)) {
	for _, ttl := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprint("TTL ", ttl), func(t *testing.T) { test(t, ttl) })
	}
}

func TestOneItem(t *testing.T) { each(t, oneItem) }

func oneItem(t *testing.T, ttl time.Duration) {
	f := open(t, Options{Capacity: 100, TTL: ttl})
	if err := f.Add("ani"); err != nil || !f.Contains("ani") || f.Contains("koel") {
		t.Fatal(err)
	}
	if added, err := f.AddUnique("ani"); added || err != nil {
		t.Fatal(added, err)
	}
	if added, err := f.AddUnique(""); !added || err != nil || !f.Remove("") {
		t.Fatal(added, err)
	}
	if !f.Remove("ani") || f.Remove("ani") || f.Len() != 0 {
		t.Fatal("an item is removed once")
	}
	if f.Hash("ani") == f.Hash("koel") {
		t.Fatal("hashes of two items are equal")
	}
}

func TestCopies(t *testing.T) {
	f := open(t, Options{Capacity: 100, CounterBits: 8})
	for copies := 1; copies <= 1000; copies++ {
		if err := f.Add("ani"); err != nil || f.Count("ani") != copies || f.Len() != copies {
			t.Fatal(copies, err)
		}
	}
	if f.SlotsInUse() > 4 {
		t.Fatal("copies share slots, but in use are", f.SlotsInUse())
	}
	for i := 0; i < 1000; i++ {
		if !f.Remove("ani") {
			t.Fatal("each copy is removed once")
		}
	}
	if f.Remove("ani") || f.SlotsInUse() != 0 {
		t.Fatal("no copy is left")
	}
	if _, err := New(Options{CounterBits: 5}); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
}

func TestCountsExpire(t *testing.T) {
	for _, max := range []uint64{0, 100000} {
		f := open(t, Options{Capacity: 1000, MaxCapacity: max, TTL: time.Hour, CounterBits: 4})
		for copies := 1; copies <= 16; copies++ {
			if count, err := f.AddAndCount("ani"); count != copies || err != nil {
				t.Fatal(count, copies, err)
			}
		}
		if f.SlotsInUse() != 1 || f.Count("ani") != 16 || f.Count("koel") != 0 {
			t.Fatal(f.SlotsInUse(), f.Count("ani"))
		}
		snapshot, err := f.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		for age, want := range map[time.Duration]int{0: 17, 2 * time.Hour: 1} {
			old, err := FromBytes(snapshot, NoLimit, age)
			if err != nil {
				t.Fatal(err)
			}
			if count, err := old.AddAndCount("ani"); count != want || err != nil {
				t.Fatal(age, count, err)
			}
		}
		var count int
		for err = nil; err == nil; count, err = f.AddAndCount("ani") {
		}
		if err != ErrFull || count != 0 {
			t.Fatal(count, err)
		}
	}
	if count, err := open(t, Options{}).AddAndCount("ani"); count != 1 || err != nil {
		t.Fatal("without counters", count, err)
	}
}

func TestBatches(t *testing.T) { each(t, batches) }

func batches(t *testing.T, ttl time.Duration) {
	f := open(t, Options{Capacity: 5000, TTL: ttl})
	var b Batch
	if n, err := f.AddBatch(&b); n != 0 || err != nil {
		t.Fatal("an empty batch", n, err)
	}
	hashes := make([]uint64, 3000)
	for i := range hashes {
		item := strconv.Itoa(i)
		if i%2 == 0 {
			b.Append(item)
		} else {
			b.AppendBytes([]byte(item))
		}
		hashes[i] = f.Hash(item)
	}
	results := make([]bool, b.Len())
	if n, err := f.AddBatch(&b); n != 3000 || err != nil {
		t.Fatal(n, err)
	}
	all := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		for i, result := range results {
			if !result {
				t.Fatal(what, "item", i)
			}
			results[i] = false
		}
	}
	all("found", f.ContainsBatch(&b, results))
	all("found by hash", f.ContainsHashes(hashes, results))
	all("removed by hash", f.RemoveHashes(hashes, results))
	if n, err := f.AddHashes(hashes); n != 3000 || err != nil || f.Len() != 3000 {
		t.Fatal(n, err)
	}
	if n, err := f.AddUniqueBatch(&b, results); n != 3000 || err != nil || f.Len() != 3000 {
		t.Fatal(n, err)
	}
	all("removed", f.RemoveBatch(&b, results))
	if n, err := f.AddUniqueHashes(hashes[:1], results[:1]); n != 1 || err != nil || !results[0] {
		t.Fatal(n, err)
	}
	if err := f.ContainsBatch(&b, results[1:]); !errors.Is(err, ErrInvalid) {
		t.Fatal("too few results", err)
	}
	b.Reset()
	if b.Len() != 0 || f.ContainsBatch(&b, nil) != nil {
		t.Fatal("a batch that was reset is not empty")
	}
}

func TestErrors(t *testing.T) {
	_, err := New(Options{Capacity: 5, MaxCapacity: 2})
	if !errors.Is(err, ErrInvalid) || err.Error() != "guira: max_capacity 2 is less than the capacity, 5" {
		t.Fatal(err)
	}
	if _, err := FromBytes([]byte("x"), NoLimit, 0); !errors.Is(err, ErrSnapshot) {
		t.Fatal(err)
	}
	for _, options := range []Options{{TTL: -1}, {TTL: 1}, {Epochs: 1}, {TTL: time.Hour, CounterBits: 5}} {
		if _, err := New(options); !errors.Is(err, ErrInvalid) {
			t.Fatal(options, err)
		}
	}
	f := open(t, Options{})
	for err = nil; err == nil; err = f.Add("one") {
	}
	if err != ErrFull {
		t.Fatal(err)
	}
	if err := f.Merge(f); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	f.Close()
	f.Close()
	if err := f.Add("x"); err != ErrInvalid || f.Contains("x") || f.Len() != 0 {
		t.Fatal("a closed filter", err)
	}
}

func TestSnapshots(t *testing.T) {
	snapshots(t, Options{Capacity: 1000, PreferSpace: true})
	snapshots(t, Options{Capacity: 1000, TTL: time.Hour})
}

func snapshots(t *testing.T, options Options) {
	f := open(t, options)
	if err := f.Add("ani"); err != nil {
		t.Fatal(err)
	}
	snapshot, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := FromBytes(snapshot, NoLimit, -1)
	if err != nil || !copied.Contains("ani") || copied.TTL() != options.TTL {
		t.Fatal(err)
	}
	old, err := FromBytes(snapshot, NoLimit, 2*time.Hour)
	if err != nil || old.Contains("ani") != (options.TTL == 0) {
		t.Fatal("the age of a snapshot", err)
	}
	// That of a filter with a TTL has the time.
	again, err := copied.Bytes()
	if err != nil || options.TTL == 0 && !bytes.Equal(again, snapshot) || len(again) != len(snapshot) {
		t.Fatal("a snapshot of a snapshot differs", err)
	}
	if _, err := FromBytes(snapshot, 100, 0); !errors.Is(err, ErrSnapshot) {
		t.Fatal(err)
	}
	if err := f.UnionWith(copied); err != nil || f.Len() != 1 {
		t.Fatal(err)
	}
	if err := f.Merge(copied); err != nil || f.Len() != 2 {
		t.Fatal(err)
	}
	if err := copied.UnionWith(f); err != nil || copied.Len() != 2 {
		t.Fatal(err)
	}
	if err := f.IntersectWith(copied); err != nil || f.Len() != 2 {
		t.Fatal(err)
	}
	if err := f.DifferenceWith(copied); err != nil || f.Len() != 0 {
		t.Fatal(err)
	}
	other := open(t, Options{TTL: 2*time.Hour - options.TTL})
	if !errors.Is(f.Merge(f), ErrInvalid) || !errors.Is(f.UnionWith(f), ErrInvalid) || !errors.Is(f.Merge(other), ErrInvalid) {
		t.Fatal("a filter is added to itself, or to one with another TTL")
	}
}

// The bytes of an item or a snapshot may be part of an object that has pointers.
func TestBytesInsideAnObject(t *testing.T) {
	f := open(t, Options{Capacity: 100})
	object := new(struct {
		next  *int
		bytes [10000]byte
	})
	object.next = new(int)
	slice := object.bytes[:3]
	copy(slice, "ani")
	item := *(*string)(unsafe.Pointer(&slice))
	if err := f.Add(item); err != nil || !f.Contains(item) || f.Hash(item) != f.Hash("ani") {
		t.Fatal(err)
	}
	if count, err := f.AddAndCount(item); count != 2 || err != nil || !f.Remove(item) {
		t.Fatal(count, err)
	}
	if added, err := f.AddUnique(item); added || err != nil || !f.Remove(item) {
		t.Fatal(added, err)
	}
	e := open(t, Options{TTL: time.Hour, Capacity: 100})
	if added, err := e.AddOrRefresh(item); !added || err != nil || !e.Contains(item) || !e.Remove(item) {
		t.Fatal(added, err)
	}
	snapshot, err := f.Bytes()
	if err != nil || len(snapshot) > len(object.bytes) {
		t.Fatal(len(snapshot), err)
	}
	slice = object.bytes[:copy(object.bytes[:], snapshot)]
	if _, err := FromBytes(slice, NoLimit, 0); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(object)
}

// Goroutines race to add the same items, in batches and alone, while the filter grows.
func TestGoroutines(t *testing.T) { each(t, goroutines) }

func goroutines(t *testing.T, ttl time.Duration) {
	const items, batch = 20000, 100
	f := open(t, Options{Capacity: 500, MaxCapacity: items, TTL: ttl})
	var wait sync.WaitGroup
	won := make([]int, 4)
	for g := range won {
		wait.Add(1)
		go func(g int) {
			defer wait.Done()
			var b Batch
			added := make([]bool, batch)
			for first := 0; first < items; first += batch {
				b.Reset()
				for i := 0; i < batch; i++ {
					b.Append(fmt.Sprint(first + i))
				}
				for from := 0; from < batch; {
					rest := Batch{data: b.data, offsets: b.offsets[from:]}
					n, err := f.AddUniqueBatch(&rest, added[from:])
					if err != nil && err != ErrBusy {
						t.Error(err)
						return
					}
					from += n
				}
				for i, yes := range added {
					if yes {
						won[g]++
					}
					if !f.Contains(fmt.Sprint(first + i)) {
						t.Error("absent:", first+i)
					}
				}
			}
		}(g)
	}
	wait.Wait()
	if sum := won[0] + won[1] + won[2] + won[3]; sum != f.Len() || sum > items || sum < items-items/50 {
		t.Fatal(won, f.Len())
	}
}

func TestExpiry(t *testing.T) {
	f := open(t, Options{TTL: 24 * time.Hour, Capacity: 1000})
	if added, err := f.AddOrRefresh("ani"); !added || err != nil || !f.Contains("ani") {
		t.Fatal(added, err)
	}
	var b Batch
	b.Append("koel")
	added := []bool{false}
	if n, err := f.AddOrRefreshBatch(&b, added); n != 1 || err != nil || !added[0] {
		t.Fatal(n, err)
	}
	if n, err := f.AddOrRefreshHashes([]uint64{1 << 40}, added); n != 1 || err != nil || !added[0] {
		t.Fatal(n, err)
	}
	if n, err := f.AddOrRefreshHashes([]uint64{1 << 40}, nil); n != 0 || !errors.Is(err, ErrInvalid) {
		t.Fatal(n, err)
	}
	if f.TTL() != 24*time.Hour || f.EpochLength() != 2*time.Hour || !f.Remove("koel") {
		t.Fatal(f.TTL(), f.EpochLength())
	}
	f.Close()
	brief := open(t, Options{TTL: 24 * time.Millisecond, Capacity: 1000})
	if err := brief.Add("ani"); err != nil {
		t.Fatal(err)
	}
	for brief.Len() > 0 {
		if _, err := brief.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	brief.Close()
}

func TestWithoutATTLThereIsNoTime(t *testing.T) {
	f := open(t, Options{})
	var b Batch
	_, ticked := f.Tick()
	_, one := f.AddOrRefresh("ani")
	_, batch := f.AddOrRefreshBatch(&b, nil)
	_, hashes := f.AddOrRefreshHashes([]uint64{1}, []bool{false})
	for _, err := range []error{ticked, one, batch, hashes} {
		if !errors.Is(err, ErrUnsupported) || err.Error() != "guira: the filter has no TTL" {
			t.Fatal(err)
		}
	}
	if age, known := f.EpochAge(); age != 0 || !known || f.TTL() != 0 || f.Epoch() != 0 || f.EpochLength() != 0 || f.Len() != 0 {
		t.Fatal(age, known)
	}
}

// The collector frees filters, and never while a call uses one.
func TestFinalizers(t *testing.T) {
	for i := 0; i < 200; i++ {
		f := open(t, Options{Capacity: 10000})
		if f.Add("ani") != nil || !f.Contains("ani") {
			t.Fatal("an item is lost")
		}
		if i%50 == 0 {
			runtime.GC()
		}
	}
}

// go vet reports each copy of a filter in testdata/copies.
func TestCopiesAreReported(t *testing.T) {
	output, err := exec.Command("go", "vet", "-copylocks", "./testdata/copies").CombinedOutput()
	if err == nil {
		t.Fatal("go vet allows copies")
	}
	if !strings.Contains(string(output), "assignment copies lock value to copied: github.com/guira-rs/guira/capi/go.Filter ") {
		t.Fatalf("no report: %s", output)
	}
}

// For the benchmarks: half full, and small enough for the caches.
func half(b *testing.B) (*Filter, []uint64) {
	f := open(b, Options{Capacity: 1 << 14})
	hashes := make([]uint64, 1<<13)
	for i := range hashes {
		hashes[i] = f.Hash(strconv.Itoa(i))
	}
	if _, err := f.AddHashes(hashes); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	return f, hashes
}

func BenchmarkContains(b *testing.B) {
	f, _ := half(b)
	for i := 0; i < b.N; i++ {
		if !f.Contains("17") {
			b.Fatal("absent")
		}
	}
}

func BenchmarkContainsHashes1024(b *testing.B) {
	f, hashes := half(b)
	found := make([]bool, 1024)
	begun := time.Now()
	for i := 0; i < b.N; i++ {
		at := i * 1024 % len(hashes)
		if f.ContainsHashes(hashes[at:at+1024], found) != nil || !found[i%1024] {
			b.Fatal("absent")
		}
	}
	b.ReportMetric(float64(b.N)*1024/time.Since(begun).Seconds()/1e6, "M/s")
}

func BenchmarkContainsBatch1024(b *testing.B) {
	f, _ := half(b)
	var batch Batch
	for i := 0; i < 1024; i++ {
		batch.Append(strconv.Itoa(i))
	}
	found := make([]bool, 1024)
	b.ResetTimer()
	begun := time.Now()
	for i := 0; i < b.N; i++ {
		if f.ContainsBatch(&batch, found) != nil || !found[i%1024] {
			b.Fatal("absent")
		}
	}
	b.ReportMetric(float64(b.N)*1024/time.Since(begun).Seconds()/1e6, "M/s")
}
