package guira

/*
#include <guira.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// openBy makes a filter by a call for a path.
func openBy(path string, of func(path *C.char, handle **C.guira_filter) C.guira_status) (*Filter, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("%w: the path %q has a zero", ErrInvalid, path)
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var handle *C.guira_filter
	if err := status(func() C.guira_status { return of(text, &handle) }); err != nil {
		return nil, err
	}
	return newFilter(handle), nil
}

// CreateShared creates a file with an empty filter for at most maxProcesses processes, where 0 means
// 63. Only the owner can use the file; prefer a path in /dev/shm.
//
// Filters are shared on 64-bit Linux only: elsewhere the error matches ErrUnsupported. Nothing else may
// write to the file or truncate it while it is in use.
func CreateShared(path string, options Options, maxProcesses uint32) (*Filter, error) {
	c := options.c()
	return openBy(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_create_shared(path, &c, C.uint32_t(maxProcesses), handle)
	})
}

// OpenShared opens the filter in a file. Close ends its use, and the file stays.
func OpenShared(path string) (*Filter, error) {
	return openBy(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_open_shared(path, handle)
	})
}

// OpenOrCreateShared opens a file, or creates it, and says whether it did. A filter that exists keeps
// its own options.
func OpenOrCreateShared(path string, options Options, maxProcesses uint32) (*Filter, bool, error) {
	c := options.c()
	var created C.bool
	filter, err := openBy(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_open_or_create_shared(path, &c, C.uint32_t(maxProcesses), handle, &created)
	})
	return filter, bool(created), err
}

// Attach takes a place in a shared filter for this process, unless it has one. Opening a file takes one.
func (f *Filter) Attach() error {
	defer runtime.KeepAlive(f)
	return status(func() C.guira_status { return C.guira_filter_attach(f.handle) })
}

// Repair completes or undoes what killed processes have begun, and returns how many there were.
func (f *Filter) Repair() (int, error) {
	defer runtime.KeepAlive(f)
	var processes C.size_t
	err := status(func() C.guira_status { return C.guira_filter_repair(f.handle, &processes) })
	return int(processes), err
}

// Recount makes Len exact after processes were killed, and returns it. No other process may have a place
// in the filter, and no other goroutine may use f.
func (f *Filter) Recount() (int, error) {
	defer runtime.KeepAlive(f)
	var n C.size_t
	err := status(func() C.guira_status { return C.guira_filter_recount(f.handle, &n) })
	return int(n), err
}

// Participants are the processes of a shared filter.
type Participants struct {
	// Processes that have a place, and how many can have one.
	InUse, Max int
	// Processes that died with a place, and were repaired.
	Deaths uint64
}

// Participants counts the processes of a shared filter.
func (f *Filter) Participants() (Participants, error) {
	defer runtime.KeepAlive(f)
	var inUse, most C.size_t
	var deaths C.uint64_t
	err := status(func() C.guira_status {
		return C.guira_filter_participants(f.handle, &inUse, &most, &deaths)
	})
	return Participants{int(inUse), int(most), uint64(deaths)}, err
}
