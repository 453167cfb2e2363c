package guira

/*
#include <guira.h>

// Go memory may not hold pointers to Go memory when C gets it, so the structures are made here.
#define CALL(NAME) \
	static guira_status NAME##_hashes(guira_filter *f, const uint64_t *hashes, size_t n, bool *results) { \
		guira_items items = guira_hashes(hashes, n); \
		return guira_filter_##NAME##_many(f, &items, results); \
	} \
	static guira_status NAME##_packed(guira_filter *f, const uint8_t *data, size_t size, const uint64_t *offsets, \
			size_t n, bool *results) { \
		guira_items items = guira_packed(data, size, offsets, n); \
		return guira_filter_##NAME##_many(f, &items, results); \
	}
CALL(contains)
CALL(remove)

static guira_status add_hashes(guira_filter *f, const uint64_t *hashes, size_t n, size_t *done) {
	guira_items items = guira_hashes(hashes, n);
	return guira_filter_add_many(f, &items, done);
}
static guira_status add_packed(guira_filter *f, const uint8_t *data, size_t size, const uint64_t *offsets,
		size_t n, size_t *done) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_filter_add_many(f, &items, done);
}
static guira_status add_unique_hashes(guira_filter *f, const uint64_t *hashes, size_t n, bool *added, size_t *done) {
	guira_items items = guira_hashes(hashes, n);
	return guira_filter_add_unique_many(f, &items, added, done);
}
static guira_status add_unique_packed(guira_filter *f, const uint8_t *data, size_t size, const uint64_t *offsets,
		size_t n, bool *added, size_t *done) {
	guira_items items = guira_packed(data, size, offsets, n);
	return guira_filter_add_unique_many(f, &items, added, done);
}
*/
import "C"

import "fmt"

// Batch collects items for one call. Reset and use it again: it keeps its memory. The zero Batch is
// empty. One goroutine at a time may change it.
type Batch struct {
	data    []byte
	offsets []uint64
}

// Append appends an item.
func (b *Batch) Append(item string) {
	b.begin()
	b.data = append(b.data, item...)
	b.offsets = append(b.offsets, uint64(len(b.data)))
}

// AppendBytes appends an item.
func (b *Batch) AppendBytes(item []byte) {
	b.begin()
	b.data = append(b.data, item...)
	b.offsets = append(b.offsets, uint64(len(b.data)))
}

func (b *Batch) begin() {
	if len(b.offsets) == 0 {
		b.offsets = append(b.offsets, 0)
	}
}

// Len is the number of items.
func (b *Batch) Len() int {
	if len(b.offsets) == 0 {
		return 0
	}
	return len(b.offsets) - 1
}

// Reset removes all items.
func (b *Batch) Reset() {
	b.data = b.data[:0]
	b.offsets = b.offsets[:0]
}

// results checks that there is a result for each of n items.
func results(slice []bool, n int) (*C.bool, error) {
	if len(slice) != n {
		return nil, fmt.Errorf("%w: %d results for %d items", ErrInvalid, len(slice), n)
	}
	return (*C.bool)(pointer(slice)), nil
}

func (b *Batch) arguments() (*C.uint8_t, C.size_t, *C.uint64_t, C.size_t) {
	return (*C.uint8_t)(pointer(b.data)), C.size_t(len(b.data)), (*C.uint64_t)(pointer(b.offsets)), C.size_t(b.Len())
}

// AddBatch adds a copy of each item. It returns how many items from the first on were added: all,
// or those before the one that the error is about.
func (f *Filter) AddBatch(b *Batch) (int, error) {
	data, size, offsets, n := b.arguments()
	var done C.size_t
	err := f.fast(C.add_packed(f.handle, data, size, offsets, n, &done))
	return int(done), err
}

// AddUniqueBatch adds each item unless it seems present, and sets added to whether it did. It
// returns how many items from the first on are decided.
func (f *Filter) AddUniqueBatch(b *Batch, added []bool) (int, error) {
	place, err := results(added, b.Len())
	if err != nil {
		return 0, err
	}
	data, size, offsets, n := b.arguments()
	var done C.size_t
	err = f.fast(C.add_unique_packed(f.handle, data, size, offsets, n, place, &done))
	return int(done), err
}

// ContainsBatch sets found to whether each item is present.
func (f *Filter) ContainsBatch(b *Batch, found []bool) error {
	place, err := results(found, b.Len())
	if err != nil {
		return err
	}
	data, size, offsets, n := b.arguments()
	return f.fast(C.contains_packed(f.handle, data, size, offsets, n, place))
}

// RemoveBatch removes a copy of each item, and sets removed to whether there was one.
func (f *Filter) RemoveBatch(b *Batch, removed []bool) error {
	place, err := results(removed, b.Len())
	if err != nil {
		return err
	}
	data, size, offsets, n := b.arguments()
	return f.fast(C.remove_packed(f.handle, data, size, offsets, n, place))
}

// AddHashes is AddBatch by hashes, of Hash or as good as random in all 64 bits.
func (f *Filter) AddHashes(hashes []uint64) (int, error) {
	var done C.size_t
	err := f.fast(C.add_hashes(f.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), &done))
	return int(done), err
}

// AddUniqueHashes is AddUniqueBatch by hashes.
func (f *Filter) AddUniqueHashes(hashes []uint64, added []bool) (int, error) {
	place, err := results(added, len(hashes))
	if err != nil {
		return 0, err
	}
	var done C.size_t
	err = f.fast(C.add_unique_hashes(f.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), place, &done))
	return int(done), err
}

// ContainsHashes is ContainsBatch by hashes.
func (f *Filter) ContainsHashes(hashes []uint64, found []bool) error {
	place, err := results(found, len(hashes))
	if err != nil {
		return err
	}
	return f.fast(C.contains_hashes(f.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), place))
}

// RemoveHashes is RemoveBatch by hashes.
func (f *Filter) RemoveHashes(hashes []uint64, removed []bool) error {
	place, err := results(removed, len(hashes))
	if err != nil {
		return err
	}
	return f.fast(C.remove_hashes(f.handle, (*C.uint64_t)(pointer(hashes)), C.size_t(len(hashes)), place))
}
