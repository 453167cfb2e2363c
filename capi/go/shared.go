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

// opened makes a filter for a path.
func opened(path string, call func(path *C.char, handle **C.guira_filter) C.guira_status) (*Filter, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("%w: the path %q has a zero", ErrInvalid, path)
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return made(func(handle **C.guira_filter) C.guira_status { return call(text, handle) })
}

// CreateShared creates a file with an empty filter for at most maxProcesses processes, where 0 means
// 63. Only the owner can use the file; prefer a path in /dev/shm.
//
// Filters are shared on 64-bit Linux only: elsewhere the error matches ErrUnsupported. Nothing else may
// write to the file or truncate it while it is in use. With a TTL a shared filter cannot grow, and nothing
// expires unless a process calls Tick. One process is enough, and several may call it.
func CreateShared(path string, options Options, maxProcesses uint32) (*Filter, error) {
	c, err := options.c()
	if err != nil {
		return nil, err
	}
	return opened(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_create_shared(path, &c, C.uint32_t(maxProcesses), handle)
	})
}

// OpenShared opens the filter in a file. Close ends its use, and the file stays.
func OpenShared(path string) (*Filter, error) {
	return opened(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_open_shared(path, handle)
	})
}

// OpenOrCreateShared opens a file, or creates it, and says whether it did. A filter that exists keeps
// its own options, and its TTL or none.
func OpenOrCreateShared(path string, options Options, maxProcesses uint32) (*Filter, bool, error) {
	c, err := options.c()
	if err != nil {
		return nil, false, err
	}
	var created C.bool
	filter, err := opened(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
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

// WasClosedCleanly returns false if a process was killed while it used the filter, before this Filter was
// opened and after the last Recount. No item is lost then, but Len may be off.
func (f *Filter) WasClosedCleanly() (bool, error) {
	defer runtime.KeepAlive(f)
	var clean C.bool
	err := status(func() C.guira_status { return C.guira_filter_was_closed_cleanly(f.handle, &clean) })
	return bool(clean), err
}

// CreateMemfd makes an empty filter in memory without a name. Other processes that get its descriptor share
// it. The rest is as for CreateShared.
func CreateMemfd(options Options, maxProcesses uint32) (*Filter, error) {
	c, err := options.c()
	if err != nil {
		return nil, err
	}
	return made(func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_create_memfd(&c, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToShared creates a file with a copy of the filter, which need not be shared: so a snapshot becomes a
// shared filter. The file gets its name when the copy is complete. The rest is as for CreateShared.
func (f *Filter) CopyToShared(path string, maxProcesses uint32) (*Filter, error) {
	defer runtime.KeepAlive(f)
	return opened(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_copy_to_shared(f.handle, path, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToMemfd makes a copy of the filter in memory without a name, as that of CreateMemfd.
func (f *Filter) CopyToMemfd(maxProcesses uint32) (*Filter, error) {
	defer runtime.KeepAlive(f)
	return made(func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_copy_to_memfd(f.handle, C.uint32_t(maxProcesses), handle)
	})
}

// FromMemfd opens the filter behind a descriptor, which remains the caller's.
func FromMemfd(descriptor uintptr) (*Filter, error) {
	return made(func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_from_memfd(C.int(descriptor), handle)
	})
}

// Memfd is the descriptor of a filter of CreateMemfd or FromMemfd, and -1 for others. It belongs to the
// filter.
func (f *Filter) Memfd() int {
	descriptor := C.guira_filter_memfd(f.handle)
	runtime.KeepAlive(f)
	return int(descriptor)
}

// OpenReader opens the filter in a file for lookups. The process needs no permission to write the file, and takes
// no place. Calls that change the filter or copy it return an error that matches ErrUnsupported, and Remove
// returns false.
//
// Lookups go by the epoch that other processes have begun last. A reader begins none: if no process calls
// Tick, nothing expires, and EpochAge exceeds EpochLength.
func OpenReader(path string) (*Filter, error) {
	return opened(path, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_open_reader(path, handle)
	})
}

// ReaderFromMemfd opens the filter behind a descriptor for lookups. The descriptor remains the caller's.
func ReaderFromMemfd(descriptor uintptr) (*Filter, error) {
	return made(func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_reader_from_memfd(C.int(descriptor), handle)
	})
}
