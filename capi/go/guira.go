// Package guira is a concurrent cuckoo filter: approximate set membership with removal, growth and
// expiry. One Filter has all of it, and the calls about time are for one with a TTL. Any number of goroutines may share a filter.
//
// A call of C costs some 40 ns, more than a lookup. Use batches where you can: a Batch of items, or
// slices of hashes.
//
// The package needs the library guira and its pkg-config file: see capi/README.md.
package guira

/*
#cgo pkg-config: guira
#include <guira.h>

// For a parameter of type void *, cgo checks the whole object that the pointer is in, and panics if
// the object has pointers. The bytes of callers may be part of any object, so they have a type here.
static guira_status from_bytes(const uint8_t *data, size_t len, size_t max_bytes, uint64_t elapsed_ns,
		guira_filter **filter) {
	return guira_filter_from_bytes(data, len, max_bytes, elapsed_ns, filter);
}
static guira_status add(guira_filter *f, const uint8_t *item, size_t len) {
	return guira_filter_add(f, item, len);
}
static guira_status add_and_count(guira_filter *f, const uint8_t *item, size_t len, size_t *count) {
	return guira_filter_add_and_count(f, item, len, count);
}
static guira_status add_unique(guira_filter *f, const uint8_t *item, size_t len, bool *added) {
	return guira_filter_add_unique(f, item, len, added);
}
static bool contains(const guira_filter *f, const uint8_t *item, size_t len) {
	return guira_filter_contains(f, item, len);
}
static size_t count(const guira_filter *f, const uint8_t *item, size_t len) {
	return guira_filter_count(f, item, len);
}
static bool remove_item(guira_filter *f, const uint8_t *item, size_t len) {
	return guira_filter_remove(f, item, len);
}
static uint64_t hash_bytes(const guira_filter *f, const uint8_t *item, size_t len) {
	return guira_filter_hash_bytes(f, item, len);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Errors of calls. Other ones have a text of their own, and match one of these by errors.Is.
var (
	// ErrInvalid: an argument is not allowed, or the filter is closed.
	ErrInvalid = errors.New("guira: invalid argument")
	// ErrFull: there is no room for the item. Nothing else was changed.
	ErrFull = errors.New("guira: the filter is full")
	// ErrMemory: there is no memory. The filter remains usable.
	ErrMemory = errors.New("guira: no memory")
	// ErrBusy: other goroutines are in the way for a short time. Call again.
	ErrBusy = errors.New("guira: busy: call again")
	// ErrSnapshot: the bytes are not a snapshot that can be read within the limit.
	ErrSnapshot = errors.New("guira: not a snapshot")
	// ErrInternal: a bug of the library.
	ErrInternal = errors.New("guira: internal error")
	// ErrUnsupported: this kind of filter, file system or platform cannot do it.
	ErrUnsupported = errors.New("guira: unsupported")
	// ErrFile: the system does not let the process create, open or lock the file.
	ErrFile = errors.New("guira: the file cannot be used")
	// ErrExists: there is a file of this name already.
	ErrExists = errors.New("guira: the file exists")
	// ErrMissing: there is no file of this name, or no longer the one that was opened.
	ErrMissing = errors.New("guira: no such file")
	// ErrOccupied: other processes have all places, or the filter that a call needs for itself.
	ErrOccupied = errors.New("guira: occupied by other processes")
)

// explained is an error with the message of the library.
type explained struct {
	kind error
	text string
}

func (e *explained) Error() string { return "guira: " + e.text }
func (e *explained) Unwrap() error { return e.kind }

// status makes a call, and an error of its status. The message belongs to the thread of the
// operating system, so the goroutine stays on it.
func status(call func() C.guira_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	kind := ErrInternal
	switch status {
	case C.GUIRA_STATUS_OK:
		return nil
	case C.GUIRA_STATUS_FULL:
		return ErrFull
	case C.GUIRA_STATUS_BUSY:
		return ErrBusy
	case C.GUIRA_STATUS_INVALID:
		kind = ErrInvalid
	case C.GUIRA_STATUS_MEMORY:
		kind = ErrMemory
	case C.GUIRA_STATUS_SNAPSHOT:
		kind = ErrSnapshot
	case C.GUIRA_STATUS_UNSUPPORTED:
		kind = ErrUnsupported
	case C.GUIRA_STATUS_FILE:
		kind = ErrFile
	case C.GUIRA_STATUS_EXISTS:
		kind = ErrExists
	case C.GUIRA_STATUS_MISSING:
		kind = ErrMissing
	case C.GUIRA_STATUS_OCCUPIED:
		kind = ErrOccupied
	}
	return &explained{kind, C.GoString(C.guira_last_message())}
}

// pointer is the address of the first element, or nil.
func pointer[T any](slice []T) unsafe.Pointer {
	if len(slice) == 0 {
		return nil
	}
	return unsafe.Pointer(&slice[0])
}

// stringPointer is the address of the bytes of a string. C only reads them.
func stringPointer(text string) *C.uint8_t {
	return *(**C.uint8_t)(unsafe.Pointer(&text))
}

// NoLimit lets a snapshot make a filter of any size.
const NoLimit = math.MaxUint64 >> (64 - 8*unsafe.Sizeof(uintptr(0)))

// Options of a filter. What is zero has its default.
type Options struct {
	// Distinct items that fit at first: 1024 by default.
	Capacity uint64
	// Distinct items that fit after growth; by default the filter does not grow.
	MaxCapacity uint64
	// The share of absent items that seem present: 0.001 by default.
	FalsePositiveRate float64
	// The seed of the hash; random by default. Clients must not know it.
	Seed *uint64
	// Prefer the smallest layout to the fastest. It cannot grow.
	PreferSpace bool
	// The bits of a counter in each slot: 4 or 8. Without counters 4 to 14 copies of one item fit, and
	// with them 32 to 1536. With a TTL a slot has copies of one epoch: a TTL has at most 5, and an item takes
	// up room for each in which it is added.
	CounterBits uint64
	// How long an item lives, at least; by default items stay. The capacities are then of the distinct items
	// of a TTL, and PreferSpace is not possible.
	TTL time.Duration
	// The epochs of a TTL: an item lives at most one epoch too long.
	Epochs uint32
}

// noCopy lets go vet report copies of what has it: a copy would use memory that the first one frees.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Filter is a set of items. Close frees it; without Close the garbage collector does. Do not copy a
// Filter: share the pointer.
type Filter struct {
	_      noCopy
	handle *C.guira_filter
}

// made makes a filter by a call.
func made(call func(handle **C.guira_filter) C.guira_status) (*Filter, error) {
	var handle *C.guira_filter
	if err := status(func() C.guira_status { return call(&handle) }); err != nil {
		return nil, err
	}
	filter := &Filter{handle: handle}
	runtime.SetFinalizer(filter, (*Filter).Close)
	return filter, nil
}

// c are the options as C has them.
func (options Options) c() (C.guira_options, error) {
	c := C.guira_options{
		capacity:            C.uint64_t(options.Capacity),
		max_capacity:        C.uint64_t(options.MaxCapacity),
		false_positive_rate: C.double(options.FalsePositiveRate),
		counter_bits:        C.uint64_t(options.CounterBits),
		epochs:              C.uint32_t(options.Epochs),
		ttl_ns:              C.uint64_t(options.TTL),
	}
	if options.TTL < 0 {
		return c, fmt.Errorf("%w: the TTL is %v: it must not be negative", ErrInvalid, options.TTL)
	}
	c.size = C.uint64_t(unsafe.Sizeof(c))
	if options.Seed != nil {
		c.seed, c.seeded = C.uint64_t(*options.Seed), 1
	}
	if options.PreferSpace {
		c.prefer = C.GUIRA_PREFER_SPACE
	}
	return c, nil
}

// New makes a filter.
func New(options Options) (*Filter, error) {
	c, err := options.c()
	if err != nil {
		return nil, err
	}
	return made(func(handle **C.guira_filter) C.guira_status { return C.guira_filter_new(&c, handle) })
}

// FromBytes makes the filter of a snapshot, which may come from anyone. A table of more than
// maxBytes bytes is refused; NoLimit allows all. The items of a filter with a TTL expire as if it had lived
// on for the age of the snapshot; a negative age is none.
func FromBytes(snapshot []byte, maxBytes uint64, age time.Duration) (*Filter, error) {
	if maxBytes > NoLimit {
		maxBytes = NoLimit
	}
	if age < 0 {
		age = 0
	}
	return made(func(handle **C.guira_filter) C.guira_status {
		data, size := (*C.uint8_t)(pointer(snapshot)), C.size_t(len(snapshot))
		return C.from_bytes(data, size, C.size_t(maxBytes), C.uint64_t(age), handle)
	})
}

// Close frees the filter, and leaves the file of a shared one. No other call may use it at the same time. Later calls find it empty, or
// return ErrInvalid.
func (f *Filter) Close() {
	C.guira_filter_free(f.handle)
	f.handle = nil
	runtime.SetFinalizer(f, nil)
}

// fast makes a call that sets no message as long as the filter is open.
func (f *Filter) fast(s C.guira_status) error {
	runtime.KeepAlive(f)
	switch s {
	case C.GUIRA_STATUS_OK:
		return nil
	case C.GUIRA_STATUS_FULL:
		return ErrFull
	case C.GUIRA_STATUS_BUSY:
		return ErrBusy
	case C.GUIRA_STATUS_MEMORY:
		return ErrMemory
	case C.GUIRA_STATUS_INVALID:
		return ErrInvalid
	case C.GUIRA_STATUS_OCCUPIED:
		return ErrOccupied
	case C.GUIRA_STATUS_FILE:
		return ErrFile
	case C.GUIRA_STATUS_MISSING:
		return ErrMissing
	case C.GUIRA_STATUS_UNSUPPORTED:
		return ErrUnsupported
	}
	return ErrInternal
}

// Add adds a copy of an item.
func (f *Filter) Add(item string) error {
	return f.fast(C.add(f.handle, stringPointer(item), C.size_t(len(item))))
}

// AddAndCount adds a copy of an item, and returns how many there are now: with a TTL those within it, so that
// it is a rate limit. Of calls that race, at most n get a count up to n.
func (f *Filter) AddAndCount(item string) (int, error) {
	var count C.size_t
	err := f.fast(C.add_and_count(f.handle, stringPointer(item), C.size_t(len(item)), &count))
	return int(count), err
}

// AddUnique adds an item unless it seems present, and says whether it did. Of calls that race to
// add an absent item, exactly one does.
func (f *Filter) AddUnique(item string) (bool, error) {
	var added C.bool
	err := f.fast(C.add_unique(f.handle, stringPointer(item), C.size_t(len(item)), &added))
	return bool(added), err
}

// Contains says whether an item is present. False is certain; true is wrong at the false-positive
// rate.
func (f *Filter) Contains(item string) bool {
	found := C.contains(f.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(f)
	return bool(found)
}

// Count is the number of copies of an item, and of items that collide with it.
func (f *Filter) Count(item string) int {
	copies := C.count(f.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(f)
	return int(copies)
}

// Remove removes a copy of an item, and says whether there was one. Remove only what was added.
func (f *Filter) Remove(item string) bool {
	removed := C.remove_item(f.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(f)
	return bool(removed)
}

// Hash is the hash of an item in this filter, for calls by hash.
func (f *Filter) Hash(item string) uint64 {
	hash := C.hash_bytes(f.handle, stringPointer(item), C.size_t(len(item)))
	runtime.KeepAlive(f)
	return uint64(hash)
}

// Len is the number of copies in the filter, including expired ones that are not swept yet.
func (f *Filter) Len() int {
	n := C.guira_filter_len(f.handle)
	runtime.KeepAlive(f)
	return int(n)
}

// SlotsInUse is the number of slots in use: with counters, about the number of distinct items.
func (f *Filter) SlotsInUse() int {
	n := C.guira_filter_slots_in_use(f.handle)
	runtime.KeepAlive(f)
	return int(n)
}

// Merge adds all items of another filter with equal options and seed.
func (f *Filter) Merge(other *Filter) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_filter_merge(f.handle, other.handle) })
}

// UnionWith adds what another filter with equal options and seed has and this one lacks: each item is
// then in as often as in the filter that had it most often, and with a TTL as young as in either. Unite filters
// with a TTL in one direction: those that are united back and forth, once per epoch, keep their items for ever.
func (f *Filter) UnionWith(other *Filter) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_filter_union_with(f.handle, other.handle) })
}

// IntersectWith removes what another filter with equal options and seed lacks: each item is then in as often
// as in the filter that had it least often, and with a TTL the youngest copies stay.
func (f *Filter) IntersectWith(other *Filter) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_filter_intersect_with(f.handle, other.handle) })
}

// DifferenceWith removes all copies of what another filter with equal options and seed has. At the
// false-positive rate, it also removes items that the other filter lacks.
func (f *Filter) DifferenceWith(other *Filter) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_filter_difference_with(f.handle, other.handle) })
}

// Bytes is a snapshot of the filter, taken while goroutines use it.
func (f *Filter) Bytes() ([]byte, error) {
	defer runtime.KeepAlive(f)
	var bytes C.guira_bytes
	err := status(func() C.guira_status { return C.guira_filter_to_bytes(f.handle, &bytes) })
	if err != nil {
		return nil, err
	}
	defer C.guira_bytes_free(&bytes)
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(bytes.data)), int(bytes.len))...), nil
}
