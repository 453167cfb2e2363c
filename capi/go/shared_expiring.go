package guira

/*
#include <guira.h>

// As in guira.go: the bytes of callers have a type.
static bool expiring_reader_contains(const guira_expiring_reader *r, const uint8_t *item, size_t len) {
	return guira_expiring_reader_contains(r, item, len);
}
static size_t expiring_reader_count(const guira_expiring_reader *r, const uint8_t *item, size_t len) {
	return guira_expiring_reader_count(r, item, len);
}
static guira_status expiring_reader_contains_packed(const guira_expiring_reader *r, const uint8_t *data, size_t size,
		const uint64_t *offsets, size_t n, bool *results) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_expiring_reader_contains_many(r, &items, results);
}
*/
import "C"

import (
	"runtime"
	"time"
)

// CreateSharedExpiring creates a file with an empty expiring filter. As CreateShared; the filter cannot
// grow.
//
// Nothing expires unless a process calls Tick. One process is enough, and several may call it.
func CreateSharedExpiring(path string, options ExpiringOptions, maxProcesses uint32) (*Expiring, error) {
	c := options.c()
	return opened(path, newExpiring, func(path *C.char, handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_create_shared(path, &c, C.uint32_t(maxProcesses), handle)
	})
}

// OpenSharedExpiring opens the expiring filter in a file. Close ends its use, and the file stays.
func OpenSharedExpiring(path string) (*Expiring, error) {
	return opened(path, newExpiring, func(path *C.char, handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_open_shared(path, handle)
	})
}

// OpenOrCreateSharedExpiring opens a file, or creates it, and says whether it did. A filter that exists
// keeps its own options.
func OpenOrCreateSharedExpiring(path string, options ExpiringOptions, maxProcesses uint32) (*Expiring, bool, error) {
	c := options.c()
	var created C.bool
	e, err := opened(path, newExpiring, func(path *C.char, handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_open_or_create_shared(path, &c, C.uint32_t(maxProcesses), handle, &created)
	})
	return e, bool(created), err
}

// CreateExpiringMemfd makes an empty expiring filter in memory without a name. As CreateMemfd.
func CreateExpiringMemfd(options ExpiringOptions, maxProcesses uint32) (*Expiring, error) {
	c := options.c()
	return made(newExpiring, func(handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_create_memfd(&c, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToShared creates a file with a copy of the filter, which need not be shared: so a snapshot becomes a
// shared filter. The file gets its name when the copy is complete. The rest is as for CreateSharedExpiring.
func (e *Expiring) CopyToShared(path string, maxProcesses uint32) (*Expiring, error) {
	defer runtime.KeepAlive(e)
	return opened(path, newExpiring, func(path *C.char, handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_copy_to_shared(e.handle, path, C.uint32_t(maxProcesses), handle)
	})
}

// CopyToMemfd makes a copy of the filter in memory without a name, as that of CreateExpiringMemfd.
func (e *Expiring) CopyToMemfd(maxProcesses uint32) (*Expiring, error) {
	defer runtime.KeepAlive(e)
	return made(newExpiring, func(handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_copy_to_memfd(e.handle, C.uint32_t(maxProcesses), handle)
	})
}

// ExpiringFromMemfd opens the expiring filter behind a descriptor, which remains the caller's.
func ExpiringFromMemfd(descriptor uintptr) (*Expiring, error) {
	return made(newExpiring, func(handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_from_memfd(C.int(descriptor), handle)
	})
}

// Memfd is the descriptor of a filter of CreateExpiringMemfd or ExpiringFromMemfd, and -1 for others. It
// belongs to the filter.
func (e *Expiring) Memfd() int {
	defer runtime.KeepAlive(e)
	return int(C.guira_expiring_memfd(e.handle))
}

// Attach takes a place in a shared filter for this process, unless it has one. Opening a file takes one.
func (e *Expiring) Attach() error {
	defer runtime.KeepAlive(e)
	return status(func() C.guira_status { return C.guira_expiring_attach(e.handle) })
}

// Repair completes or undoes what killed processes have begun, and returns how many there were.
func (e *Expiring) Repair() (int, error) {
	defer runtime.KeepAlive(e)
	var processes C.size_t
	err := status(func() C.guira_status { return C.guira_expiring_repair(e.handle, &processes) })
	return int(processes), err
}

// Recount makes Len exact after processes were killed, and returns it. No other process may have a place
// in the filter, and no other goroutine may use e.
func (e *Expiring) Recount() (int, error) {
	defer runtime.KeepAlive(e)
	var n C.size_t
	err := status(func() C.guira_status { return C.guira_expiring_recount(e.handle, &n) })
	return int(n), err
}

// Participants counts the processes of a shared filter.
func (e *Expiring) Participants() (Participants, error) {
	defer runtime.KeepAlive(e)
	var inUse, most C.size_t
	var deaths C.uint64_t
	err := status(func() C.guira_status {
		return C.guira_expiring_participants(e.handle, &inUse, &most, &deaths)
	})
	return Participants{int(inUse), int(most), uint64(deaths)}, err
}

// WasClosedCleanly returns false if a process was killed while it used the filter, before this Expiring was
// opened and after the last Recount. No item is lost then, but Len may be off.
func (e *Expiring) WasClosedCleanly() (bool, error) {
	defer runtime.KeepAlive(e)
	var clean C.bool
	err := status(func() C.guira_status { return C.guira_expiring_was_closed_cleanly(e.handle, &clean) })
	return bool(clean), err
}

// ExpiringReader is a shared expiring filter in which this process only looks items up. As Reader.
//
// Lookups go by the epoch that other processes have begun last. A reader begins none: if no process calls
// Tick, nothing expires, and EpochAge exceeds EpochLength.
type ExpiringReader struct {
	_      noCopy
	handle *C.guira_expiring_reader
}

func newExpiringReader(handle *C.guira_expiring_reader) *ExpiringReader {
	reader := &ExpiringReader{handle: handle}
	runtime.SetFinalizer(reader, (*ExpiringReader).Close)
	return reader
}

// OpenExpiringReader opens the expiring filter in a file for lookups.
func OpenExpiringReader(path string) (*ExpiringReader, error) {
	return opened(path, newExpiringReader, func(path *C.char, handle **C.guira_expiring_reader) C.guira_status {
		return C.guira_expiring_reader_open_shared(path, handle)
	})
}

// ExpiringReaderFromMemfd opens the expiring filter behind a descriptor for lookups. The descriptor remains
// the caller's.
func ExpiringReaderFromMemfd(descriptor uintptr) (*ExpiringReader, error) {
	return made(newExpiringReader, func(handle **C.guira_expiring_reader) C.guira_status {
		return C.guira_expiring_reader_from_memfd(C.int(descriptor), handle)
	})
}

// Close ends the use of the reader. No other call may use it at the same time. Later lookups find the
// filter empty.
func (r *ExpiringReader) Close() {
	C.guira_expiring_reader_free(r.handle)
	r.handle = nil
	runtime.SetFinalizer(r, nil)
}

// Contains says whether an item is present. False is certain; true is wrong at the false-positive rate.
func (r *ExpiringReader) Contains(item string) bool {
	defer runtime.KeepAlive(r)
	return bool(C.expiring_reader_contains(r.handle, stringPointer(item), C.size_t(len(item))))
}

// ContainsBatch sets found to whether each item is present.
func (r *ExpiringReader) ContainsBatch(b *Batch, found []bool) error {
	place, err := results(found, b.Len())
	if err != nil {
		return err
	}
	data, size, offsets, n := b.arguments()
	defer runtime.KeepAlive(r)
	return status(func() C.guira_status {
		return C.expiring_reader_contains_packed(r.handle, data, size, offsets, n, place)
	})
}

// Count is the number of live copies of an item, and of items that collide with it.
func (r *ExpiringReader) Count(item string) int {
	defer runtime.KeepAlive(r)
	return int(C.expiring_reader_count(r.handle, stringPointer(item), C.size_t(len(item))))
}

// Len is the number of copies in the filter, including expired ones that are not swept yet.
func (r *ExpiringReader) Len() int {
	defer runtime.KeepAlive(r)
	return int(C.guira_expiring_reader_len(r.handle))
}

// Epoch is the number of epochs that processes have begun.
func (r *ExpiringReader) Epoch() uint64 {
	defer runtime.KeepAlive(r)
	return uint64(C.guira_expiring_reader_epoch(r.handle))
}

// EpochAge is how long the current epoch has lasted; false if it is unknown when the epoch began.
func (r *ExpiringReader) EpochAge() (time.Duration, bool) {
	defer runtime.KeepAlive(r)
	return age(C.guira_expiring_reader_epoch_age_ns(r.handle))
}

// EpochLength is how long an epoch lasts.
func (r *ExpiringReader) EpochLength() time.Duration {
	defer runtime.KeepAlive(r)
	return time.Duration(C.guira_expiring_reader_epoch_length_ns(r.handle))
}
