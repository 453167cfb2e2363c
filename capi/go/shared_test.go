package guira

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

const (
	sharedPath  = "GUIRA_TEST_SHARED"
	sharedItems = 5000
)

// TestMain is also the program of the other processes of TestShared: it adds items until it is killed.
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
	select {}
}

func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared")
	if _, err := OpenShared(path); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	f, err := CreateShared(path, Options{Capacity: 2 * sharedItems}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := CreateShared(path, Options{}, 0); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	growing, err := CreateShared(path+"2", Options{MaxCapacity: 1 << 20}, 0)
	if err != nil {
		t.Fatal(err)
	}
	growing.Close()
	if _, err := OpenShared("a\x00b"); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	other, created, err := OpenOrCreateShared(path, Options{}, 0)
	if err != nil || created {
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
	other.Close()
	if n, err := f.Recount(); err != nil || n != f.Len() || n < sharedItems+990 {
		t.Fatal(n, err)
	}
	snapshot, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := FromBytes(snapshot, NoLimit)
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
	if err := f.Attach(); err != nil {
		t.Fatal(err)
	}
}
