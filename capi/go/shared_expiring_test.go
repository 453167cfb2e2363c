package guira

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const expiringItems = 500

// addUntilKilled adds items once, and then refreshes them.
func addUntilKilled(path string) {
	e, err := OpenSharedExpiring(path)
	if err != nil {
		panic(err)
	}
	for round := 0; ; round++ {
		for i := 0; i < expiringItems; i++ {
			added, err := e.AddOrRefresh("item " + strconv.Itoa(i))
			if err != nil || round > 0 && added {
				panic("not added once")
			}
		}
		if round == 0 {
			os.Stdout.WriteString("done")
		}
	}
}

func TestSharedExpiring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared")
	if _, err := OpenSharedExpiring(path); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	options := ExpiringOptions{TTL: time.Hour, Epochs: 2, FalsePositiveRate: 1e-6}
	e, err := CreateSharedExpiring(path, options, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := CreateSharedExpiring(path, options, 0); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, err := OpenShared(path); !errors.Is(err, ErrSnapshot) {
		t.Fatal(err)
	}
	other, created, err := OpenOrCreateSharedExpiring(path, options, 0)
	if err != nil || created {
		t.Fatal(created, err)
	}
	defer other.Close()
	options.MaxCapacity = 1 << 20
	if _, err := CreateSharedExpiring(path+"2", options, 0); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}

	// A child adds, and is killed while it refreshes.
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), expiringPath+"="+path)
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := output.Read(make([]byte, 4)); n == 0 {
		t.Fatal(err)
	}
	if _, err := e.Recount(); !errors.Is(err, ErrOccupied) {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	for i := 0; i < expiringItems; i++ {
		if !e.Contains("item " + strconv.Itoa(i)) {
			t.Fatal("item", i, "is lost")
		}
	}
	if n, err := e.Repair(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if p, err := e.Participants(); err != nil || p.InUse != 2 || p.Max != 63 || p.Deaths != 1 {
		t.Fatal(p, err)
	}
	late, err := OpenSharedExpiring(path)
	if err != nil {
		t.Fatal(err)
	}
	if clean, err := late.WasClosedCleanly(); clean || err != nil {
		t.Fatal(clean, err)
	}
	late.Close()
	other.Close()
	if n, err := e.Recount(); err != nil || n != e.Len() || n < expiringItems-5 {
		t.Fatal(n, err)
	}
	if began, err := e.Tick(); began || err != nil {
		t.Fatal(began, err)
	}
	if age, known := e.EpochAge(); !known || age <= 0 || age > time.Hour || e.Epoch() != 0 {
		t.Fatal(age, known)
	}
	own, err := NewExpiring(ExpiringOptions{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := own.Attach(); !errors.Is(err, ErrUnsupported) || e.Attach() != nil {
		t.Fatal(err)
	}
}

func TestExpiringReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared")
	if _, err := OpenExpiringReader(path); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	options := ExpiringOptions{TTL: 20 * time.Millisecond, Epochs: 2, FalsePositiveRate: 1e-6}
	named, err := CreateSharedExpiring(path, options, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	unnamed, err := CreateExpiringMemfd(options, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unnamed.Close()
	same, err := ExpiringFromMemfd(uintptr(unnamed.Memfd()))
	if err != nil || named.Memfd() != -1 {
		t.Fatal(named.Memfd(), err)
	}
	defer same.Close()
	ofPath, err := OpenExpiringReader(path)
	if err != nil {
		t.Fatal(err)
	}
	ofMemfd, err := ExpiringReaderFromMemfd(uintptr(unnamed.Memfd()))
	if err != nil {
		t.Fatal(err)
	}
	for reader, filter := range map[*ExpiringReader]*Expiring{ofPath: named, ofMemfd: same} {
		if reader.Contains("ani") || reader.Epoch() != 0 {
			t.Fatal("not empty")
		}
		if _, err := filter.AddOrRefresh("ani"); err != nil {
			t.Fatal(err)
		}
		var b Batch
		b.Append("ani")
		b.Append("koel")
		found := []bool{false, true}
		if err := reader.ContainsBatch(&b, found); err != nil || !found[0] || found[1] {
			t.Fatal(found, err)
		}
		if reader.Count("ani") != 1 || reader.Len() != 1 || reader.EpochLength() != filter.EpochLength() {
			t.Fatal(reader.Count("ani"), reader.Len())
		}
		// A reader lets no time pass.
		time.Sleep(3 * options.TTL)
		if age, known := reader.EpochAge(); !known || age < 3*options.TTL || !reader.Contains("ani") {
			t.Fatal(age, known)
		}
		for reader.Contains("ani") {
			if _, err := filter.Tick(); err != nil {
				t.Fatal(err)
			}
		}
		if reader.Epoch() != 3 || reader.Len() != 0 {
			t.Fatal(reader.Epoch(), reader.Len())
		}
		reader.Close()
		if reader.Contains("ani") || reader.Len() != 0 {
			t.Fatal("closed")
		}
	}
}
