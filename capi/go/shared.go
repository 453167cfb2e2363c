package guira

/*
#include <guira.h>
#include <stdlib.h>

// As in guira.go: the bytes of callers have a type.
static bool reader_contains(const guira_reader *r, const uint8_t *item, size_t len) {
	return guira_reader_contains(r, item, len);
}
static size_t reader_count(const guira_reader *r, const uint8_t *item, size_t len) {
	return guira_reader_count(r, item, len);
}
static guira_status reader_contains_packed(const guira_reader *r, const uint8_t *data, size_t size,
		const uint64_t *offsets, size_t n, bool *results) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_reader_contains_many(r, &items, results);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// made makes a handle by a call, and of the handle what it returns.
func made[H, T any](of func(H) *T, call func(handle *H) C.guira_status) (*T, error) {
	var handle H
	if err := status(func() C.guira_status { return call(&handle) }); err != nil {
		return nil, err
	}
	return of(handle), nil
}

// opened is made for a path.
func opened[H, T any](path string, of func(H) *T, call func(path *C.char, handle *H) C.guira_status) (*T, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("%w: the path %q has a zero", ErrInvalid, path)
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return made(of, func(handle *H) C.guira_status { return call(text, handle) })
}

// CreateShared creates a file with an empty filter for at most maxProcesses processes, where 0 means
// 63. Only the owner can use the file; prefer a path in /dev/shm.
//
// Filters are shared on 64-bit Linux only: elsewhere the error matches ErrUnsupported. Nothing else may
// write to the file or truncate it while it is in use.
func CreateShared(path string, options Options, maxProcesses uint32) (*Filter, error) {
	c := options.c()
	return opened(path, newFilter, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_create_shared(path, &c, C.uint32_t(maxProcesses), handle)
	})
}

// OpenShared opens the filter in a file. Close ends its use, and the file stays.
func OpenShared(path string) (*Filter, error) {
	return opened(path, newFilter, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_open_shared(path, handle)
	})
}

// OpenOrCreateShared opens a file, or creates it, and says whether it did. A filter that exists keeps
// its own options.
func OpenOrCreateShared(path string, options Options, maxProcesses uint32) (*Filter, bool, error) {
	c := options.c()
	var created C.bool
	filter, err := opened(path, newFilter, func(path *C.char, handle **C.guira_filter) C.guira_status {
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
	c := options.c()
	return made(newFilter, func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_create_memfd(&c, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToShared creates a file with a copy of the filter, which need not be shared: so a snapshot becomes a
// shared filter. The file gets its name when the copy is complete. The rest is as for CreateShared.
func (f *Filter) CopyToShared(path string, maxProcesses uint32) (*Filter, error) {
	defer runtime.KeepAlive(f)
	return opened(path, newFilter, func(path *C.char, handle **C.guira_filter) C.guira_status {
		return C.guira_filter_copy_to_shared(f.handle, path, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToMemfd makes a copy of the filter in memory without a name, as that of CreateMemfd.
func (f *Filter) CopyToMemfd(maxProcesses uint32) (*Filter, error) {
	defer runtime.KeepAlive(f)
	return made(newFilter, func(handle **C.guira_filter) C.guira_status {
		return C.guira_filter_copy_to_memfd(f.handle, C.uint32_t(maxProcesses), handle)
	})
}

// FromMemfd opens the filter behind a descriptor, which remains the caller's.
func FromMemfd(descriptor uintptr) (*Filter, error) {
	return made(newFilter, func(handle **C.guira_filter) C.guira_status {
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

// Reader is a shared filter in which this process only looks items up. It needs no permission to write the
// file, and takes no place. Close ends its use; without Close the garbage collector does.
type Reader struct {
	_      noCopy
	handle *C.guira_reader
}

func newReader(handle *C.guira_reader) *Reader {
	reader := &Reader{handle: handle}
	runtime.SetFinalizer(reader, (*Reader).Close)
	return reader
}

// OpenReader opens the filter in a file for lookups.
func OpenReader(path string) (*Reader, error) {
	return opened(path, newReader, func(path *C.char, handle **C.guira_reader) C.guira_status {
		return C.guira_reader_open_shared(path, handle)
	})
}

// ReaderFromMemfd opens the filter behind a descriptor for lookups. The descriptor remains the caller's.
func ReaderFromMemfd(descriptor uintptr) (*Reader, error) {
	return made(newReader, func(handle **C.guira_reader) C.guira_status {
		return C.guira_reader_from_memfd(C.int(descriptor), handle)
	})
}

// Close ends the use of the reader. No other call may use it at the same time. Later lookups find the
// filter empty.
func (r *Reader) Close() {
	C.guira_reader_free(r.handle)
	r.handle = nil
	runtime.SetFinalizer(r, nil)
}

// Contains says whether an item is present. False is certain; true is wrong at the false-positive rate.
func (r *Reader) Contains(item string) bool {
	found := C.reader_contains(r.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(r)
	return bool(found)
}

// ContainsBatch sets found to whether each item is present.
func (r *Reader) ContainsBatch(b *Batch, found []bool) error {
	place, err := results(found, b.Len())
	if err != nil {
		return err
	}
	data, size, offsets, n := b.arguments()
	defer runtime.KeepAlive(r)
	return status(func() C.guira_status {
		return C.reader_contains_packed(r.handle, data, size, offsets, n, place)
	})
}

// Count is the number of copies of an item, and of items that collide with it.
func (r *Reader) Count(item string) int {
	copies := C.reader_count(r.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(r)
	return int(copies)
}

// Len is the number of copies in the filter.
func (r *Reader) Len() int {
	n := C.guira_reader_len(r.handle)
	runtime.KeepAlive(r)
	return int(n)
}
