package guira

/*
#include <guira.h>

// As in guira.go and batch.go: the bytes of callers have a type, and structures are made here.
static guira_status add_or_refresh(guira_filter *f, const uint8_t *item, size_t len, bool *added) {
	return guira_filter_add_or_refresh(f, item, len, added);
}
static guira_status add_or_refresh_hashes(guira_filter *f, const uint64_t *hashes, size_t n, bool *added, size_t *done) {
	guira_items items = guira_hashes(hashes, n);
	return guira_filter_add_or_refresh_many(f, &items, added, done);
}
static guira_status add_or_refresh_packed(guira_filter *f, const uint8_t *data, size_t size, const uint64_t *offsets,
		size_t n, bool *added, size_t *done) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_filter_add_or_refresh_many(f, &items, added, done);
}
*/
import "C"

import (
	"math"
	"runtime"
	"time"
)

// Tick begins the next epoch of a filter with a TTL if it is due, and says whether it did. Writes to a filter on
// the heap do this, too. In a shared filter, call it about four times per epoch, or nothing expires.
func (f *Filter) Tick() (bool, error) {
	defer runtime.KeepAlive(f)
	var began C.bool
	err := status(func() C.guira_status { return C.guira_filter_tick(f.handle, nil, nil, &began) })
	return bool(began), err
}

// AddOrRefresh lets an item live for a whole TTL from now, and says whether it was absent.
func (f *Filter) AddOrRefresh(item string) (bool, error) {
	defer runtime.KeepAlive(f)
	var added C.bool
	err := status(func() C.guira_status {
		return C.add_or_refresh(f.handle, stringPointer(item), C.size_t(len(item)), &added)
	})
	return bool(added), err
}

// AddOrRefreshBatch is AddOrRefresh of all items: added is set to whether each one was absent. It
// returns how many items from the first on are decided.
func (f *Filter) AddOrRefreshBatch(b *Batch, added []bool) (int, error) {
	place, err := results(added, b.Len())
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(f)
	data, size, offsets, n := b.arguments()
	var done C.size_t
	err = status(func() C.guira_status {
		return C.add_or_refresh_packed(f.handle, data, size, offsets, n, place, &done)
	})
	return int(done), err
}

// AddOrRefreshHashes is AddOrRefreshBatch by hashes.
func (f *Filter) AddOrRefreshHashes(hashes []uint64, added []bool) (int, error) {
	place, err := results(added, len(hashes))
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(f)
	var done C.size_t
	err = status(func() C.guira_status {
		return C.add_or_refresh_hashes(f.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), place, &done)
	})
	return int(done), err
}

// TTL is how long an item lives, at least; 0 if items stay.
func (f *Filter) TTL() time.Duration {
	defer runtime.KeepAlive(f)
	return time.Duration(C.guira_filter_ttl_ns(f.handle))
}

// EpochLength is how long an epoch lasts; 0 without a TTL.
func (f *Filter) EpochLength() time.Duration {
	defer runtime.KeepAlive(f)
	return time.Duration(C.guira_filter_epoch_length_ns(f.handle))
}

// Epoch is the number of epochs that have begun; 0 without a TTL.
func (f *Filter) Epoch() uint64 {
	defer runtime.KeepAlive(f)
	return uint64(C.guira_filter_epoch(f.handle))
}

// EpochAge is how long the current epoch has lasted; false if it is unknown when the epoch began.
func (f *Filter) EpochAge() (time.Duration, bool) {
	defer runtime.KeepAlive(f)
	age := C.guira_filter_epoch_age_ns(f.handle)
	if age == math.MaxUint64 {
		return 0, false
	}
	return time.Duration(age), true
}
