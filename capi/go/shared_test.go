package guira

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	sharedPath  = "GUIRA_TEST_SHARED"
	sharedItems = 5000
)

// TestMain is also the program of the other process of TestShared: it adds items, refreshes them if the filter has
// a TTL, and waits until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv(sharedPath)
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := OpenShared(path)
	if err != nil {
		panic(err)
	}
	for i := 0; i < sharedItems; i++ {
		if _, err := f.AddUnique("item " + strconv.Itoa(i)); err != nil {
			panic(err)
		}
	}
	os.Stdout.WriteString("done")
	for i := 0; f.TTL() > 0; i++ {
		if added, err := f.AddOrRefresh("item " + strconv.Itoa(i%sharedItems)); added || err != nil {
			panic("not added once")
		}
	}
	select {}
}

func TestShared(t *testing.T) { each(t, shared) }

func shared(t *testing.T, ttl time.Duration) {
	path := filepath.Join(t.TempDir(), "shared")
	if _, err := OpenShared(path); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	f, err := CreateShared(path, Options{Capacity: 2 * sharedItems, TTL: ttl}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := CreateShared(path, Options{}, 0); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	growing, err := CreateShared(path+"2", Options{MaxCapacity: 1 << 20, TTL: ttl}, 0)
	if ttl == 0 && err == nil {
		growing.Close()
	} else if !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	if _, err := OpenShared("a\x00b"); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	other, created, err := OpenOrCreateShared(path, Options{}, 0)
	if err != nil || created || other.TTL() != ttl {
		t.Fatal(created, err)
	}
	defer other.Close()

	// A child adds, and is killed when it has; goroutines here add at the same time.
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), sharedPath+"="+path)
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, filter := range []*Filter{f, other} {
		all.Add(1)
		go func(filter *Filter) {
			defer all.Done()
			var b Batch
			for i := 0; i < 1000; i++ {
				b.Append("own " + strconv.Itoa(i))
			}
			added := make([]bool, b.Len())
			for decided := 0; decided < b.Len(); {
				n, err := filter.AddUniqueBatch(&b, added)
				if decided = n; err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
		}(filter)
	}
	all.Wait()
	if n, err := output.Read(make([]byte, 4)); n == 0 {
		t.Fatal(err)
	}
	if _, err := f.Recount(); !errors.Is(err, ErrOccupied) {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	for i := 0; i < sharedItems; i++ {
		if !f.Contains("item "+strconv.Itoa(i)) || i < 1000 && !f.Contains("own "+strconv.Itoa(i)) {
			t.Fatal("item", i, "is lost")
		}
	}
	if n, err := f.Repair(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	// Handles of one process have a place each.
	if p, err := f.Participants(); err != nil || p.InUse != 2 || p.Max != 63 || p.Deaths != 1 {
		t.Fatal(p, err)
	}
	late, err := OpenShared(path)
	if err != nil {
		t.Fatal(err)
	}
	if clean, err := late.WasClosedCleanly(); clean || err != nil {
		t.Fatal(clean, err)
	}
	late.Close()
	other.Close()
	if n, err := f.Recount(); err != nil || n != f.Len() || n < sharedItems+990 {
		t.Fatal(n, err)
	}
	snapshot, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := FromBytes(snapshot, NoLimit, 0)
	if err != nil || copied.Len() != f.Len() {
		t.Fatal(err)
	}
	defer copied.Close()
	if err := f.UnionWith(copied); err != nil || f.Len() != copied.Len() {
		t.Fatal(err)
	}
	if _, err := copied.Repair(); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	if err := f.Attach(); err != nil || !errors.Is(copied.Attach(), ErrUnsupported) {
		t.Fatal(err)
	}
	if age, known := f.EpochAge(); !known || age > ttl || (age > 0) != (ttl > 0) || f.Epoch() != 0 {
		t.Fatal(age, known)
	}
}

func TestReader(t *testing.T) { each(t, reader) }

func reader(t *testing.T, ttl time.Duration) {
	path, options := filepath.Join(t.TempDir(), "shared"), Options{TTL: ttl}
	if _, err := OpenReader(path); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	if _, err := OpenReader("a\x00b"); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	named, err := CreateShared(path, options, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	unnamed, err := CreateMemfd(options, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unnamed.Close()
	same, err := FromMemfd(uintptr(unnamed.Memfd()))
	if err != nil || named.Memfd() != -1 {
		t.Fatal(named.Memfd(), err)
	}
	defer same.Close()
	restored, err := New(options)
	if err != nil || restored.Add("koel") != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if _, err := restored.CopyToShared(path, 0); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	copied, err := restored.CopyToShared(path+"-copy", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	again, err := copied.CopyToMemfd(9)
	if err != nil || !again.Contains("koel") {
		t.Fatal(err)
	}
	defer again.Close()
	opened, err := OpenShared(path + "-copy")
	if err != nil || !opened.Contains("koel") {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := copied.Merge(opened); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err := FromMemfd(1 << 30); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	ofPath, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	ofMemfd, err := ReaderFromMemfd(uintptr(unnamed.Memfd()))
	if err != nil {
		t.Fatal(err)
	}
	for reader, filter := range map[*Filter]*Filter{ofPath: named, ofMemfd: same} {
		if clean, err := filter.WasClosedCleanly(); !clean || err != nil {
			t.Fatal(clean, err)
		}
		if reader.Contains("ani") || filter.Add("ani") != nil || !reader.Contains("ani") {
			t.Fatal("the reader does not follow")
		}
		var b Batch
		b.Append("ani")
		b.Append("koel")
		found := []bool{false, true}
		if err := reader.ContainsBatch(&b, found); err != nil || !found[0] || found[1] {
			t.Fatal(found, err)
		}
		if err := reader.ContainsBatch(&b, nil); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		if reader.Count("ani") != 1 || reader.Len() != 1 || reader.TTL() != ttl || reader.EpochLength() != filter.EpochLength() {
			t.Fatal(reader.Count("ani"), reader.Len())
		}
		_, inBatch := reader.AddBatch(&b)
		_, copied := reader.CopyToMemfd(0)
		for _, err := range []error{reader.Add("koel"), inBatch, copied, reader.Attach(), reader.Merge(filter)} {
			if !errors.Is(err, ErrUnsupported) {
				t.Fatal("the reader writes", err)
			}
		}
		if reader.Remove("ani") || reader.Len() != 1 {
			t.Fatal("the reader removes")
		}
		reader.Close()
		if reader.Contains("ani") || reader.Len() != 0 {
			t.Fatal("closed")
		}
	}
	if !unnamed.Contains("ani") {
		t.Fatal("lost")
	}
}

// A reader lets no time pass.
func TestReadersGoByTheEpochsOfOthers(t *testing.T) {
	options := Options{TTL: 20 * time.Millisecond, Epochs: 2, FalsePositiveRate: 1e-6}
	f, err := CreateMemfd(options, 0)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := ReaderFromMemfd(uintptr(f.Memfd()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if added, err := f.AddOrRefresh("ani"); !added || err != nil {
		t.Fatal(added, err)
	}
	time.Sleep(3 * options.TTL)
	if age, known := reader.EpochAge(); !known || age < 3*options.TTL || !reader.Contains("ani") || reader.Epoch() != 0 {
		t.Fatal(age, known)
	}
	for reader.Len() > 0 {
		if _, err := f.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	if reader.Epoch() == 0 || reader.Contains("ani") {
		t.Fatal(reader.Epoch(), reader.Contains("ani"))
	}
}
