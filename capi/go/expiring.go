package guira

/*
#include <guira.h>

static guira_status add_or_refresh_hashes(guira_expiring *f, const uint64_t *hashes, size_t n, bool *added, size_t *done) {
	guira_items items = guira_hashes(hashes, n);
	return guira_expiring_add_or_refresh_many(f, &items, added, done);
}
static guira_status add_or_refresh_packed(guira_expiring *f, const uint8_t *data, size_t size, const uint64_t *offsets,
		size_t n, bool *added, size_t *done) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_expiring_add_or_refresh_many(f, &items, added, done);
}
static guira_status add_or_refresh(guira_expiring *f, const uint8_t *item, size_t len, bool *added) {
	return guira_expiring_add_or_refresh(f, item, len, added);
}
static bool expiring_contains(const guira_expiring *f, const uint8_t *item, size_t len) {
	return guira_expiring_contains(f, item, len);
}
static bool expiring_remove(guira_expiring *f, const uint8_t *item, size_t len) {
	return guira_expiring_remove(f, item, len);
}
*/
import "C"

import (
	"math"
	"runtime"
	"time"
	"unsafe"
)

// ExpiringOptions of an expiring filter. What is zero has its default.
type ExpiringOptions struct {
	// How long an item lives, at least. It has no default.
	TTL time.Duration
	// Distinct items of a TTL: 1024 by default.
	Capacity uint64
	// Distinct items of a TTL after growth; by default the filter does not grow.
	MaxCapacity uint64
	// The share of absent items that seem present: 0.001 by default.
	FalsePositiveRate float64
	// The epochs of a TTL: an item lives at most one epoch too long.
	Epochs uint32
	// The seed of the hash; random by default.
	Seed *uint64
}

// Expiring is a set of items that are forgotten some time after they were last seen. Do not copy it:
// share the pointer.
type Expiring struct {
	_      noCopy
	handle *C.guira_expiring
}

func (options ExpiringOptions) c() C.guira_expiring_options {
	c := C.guira_expiring_options{
		ttl_ns:              nanoseconds(options.TTL),
		capacity:            C.uint64_t(options.Capacity),
		max_capacity:        C.uint64_t(options.MaxCapacity),
		false_positive_rate: C.double(options.FalsePositiveRate),
		epochs:              C.uint32_t(options.Epochs),
	}
	c.size = C.uint64_t(unsafe.Sizeof(c))
	if options.Seed != nil {
		c.seed, c.seeded = C.uint64_t(*options.Seed), 1
	}
	return c
}

func newExpiring(handle *C.guira_expiring) *Expiring {
	e := &Expiring{handle: handle}
	runtime.SetFinalizer(e, (*Expiring).Close)
	return e
}

// NewExpiring makes an expiring filter.
func NewExpiring(options ExpiringOptions) (*Expiring, error) {
	c := options.c()
	return made(newExpiring, func(handle **C.guira_expiring) C.guira_status {
		return C.guira_expiring_new(&c, handle)
	})
}

// Close frees the filter, and leaves the file of a shared one. No other call may use it at the same time.
func (e *Expiring) Close() {
	C.guira_expiring_free(e.handle)
	e.handle = nil
	runtime.SetFinalizer(e, nil)
}

// Tick begins the next epoch if it is due, and says whether it did. Call it about four times per
// epoch, for example from a time.Ticker: without it nothing expires.
func (e *Expiring) Tick() (bool, error) {
	defer runtime.KeepAlive(e)
	var began C.bool
	err := status(func() C.guira_status { return C.guira_expiring_tick(e.handle, nil, nil, &began) })
	return bool(began), err
}

// EpochLength is how long an epoch lasts.
func (e *Expiring) EpochLength() time.Duration {
	defer runtime.KeepAlive(e)
	return time.Duration(C.guira_expiring_epoch_length_ns(e.handle))
}

// Epoch is the number of epochs that have begun.
func (e *Expiring) Epoch() uint64 {
	defer runtime.KeepAlive(e)
	return uint64(C.guira_expiring_epoch(e.handle))
}

// EpochAge is how long the current epoch has lasted; false if it is unknown when the epoch began.
func (e *Expiring) EpochAge() (time.Duration, bool) {
	defer runtime.KeepAlive(e)
	return age(C.guira_expiring_epoch_age_ns(e.handle))
}

// age is the age of an epoch, of which the largest number means that it is unknown.
func age(ns C.uint64_t) (time.Duration, bool) {
	if ns == math.MaxUint64 {
		return 0, false
	}
	return time.Duration(ns), true
}

// AddOrRefresh lets an item live for a whole TTL from now, and says whether it was absent.
func (e *Expiring) AddOrRefresh(item string) (bool, error) {
	defer runtime.KeepAlive(e)
	var added C.bool
	err := status(func() C.guira_status {
		return C.add_or_refresh(e.handle, stringPointer(item), C.size_t(len(item)), &added)
	})
	return bool(added), err
}

// AddOrRefreshBatch is AddOrRefresh of all items: added is set to whether each one was absent. It
// returns how many items from the first on are decided.
func (e *Expiring) AddOrRefreshBatch(b *Batch, added []bool) (int, error) {
	place, err := results(added, b.Len())
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(e)
	data, size, offsets, n := b.arguments()
	var done C.size_t
	err = status(func() C.guira_status {
		return C.add_or_refresh_packed(e.handle, data, size, offsets, n, place, &done)
	})
	return int(done), err
}

// AddOrRefreshHashes is AddOrRefreshBatch by hashes.
func (e *Expiring) AddOrRefreshHashes(hashes []uint64, added []bool) (int, error) {
	place, err := results(added, len(hashes))
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(e)
	var done C.size_t
	err = status(func() C.guira_status {
		return C.add_or_refresh_hashes(e.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), place, &done)
	})
	return int(done), err
}

// Contains says whether an item is present.
func (e *Expiring) Contains(item string) bool {
	defer runtime.KeepAlive(e)
	return bool(C.expiring_contains(e.handle, stringPointer(item), C.size_t(len(item))))
}

// Remove removes a copy of an item, and says whether there was one.
func (e *Expiring) Remove(item string) bool {
	defer runtime.KeepAlive(e)
	return bool(C.expiring_remove(e.handle, stringPointer(item), C.size_t(len(item))))
}

// Len is the number of copies in the filter.
func (e *Expiring) Len() int {
	defer runtime.KeepAlive(e)
	return int(C.guira_expiring_len(e.handle))
}

// Merge adds all items of another filter with equal options and seed.
func (e *Expiring) Merge(other *Expiring) error {
	defer runtime.KeepAlive(e)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_expiring_merge(e.handle, other.handle) })
}

// UnionWith adds what another filter with equal options and seed has and this one lacks: each item is
// then in as often, and as young, as in either filter. Unite in one direction: filters that are united
// back and forth, once per epoch, keep their items for ever.
func (e *Expiring) UnionWith(other *Expiring) error {
	defer runtime.KeepAlive(e)
	defer runtime.KeepAlive(other)
	return status(func() C.guira_status { return C.guira_expiring_union_with(e.handle, other.handle) })
}
