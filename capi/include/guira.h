// guira: concurrent cuckoo filters. Approximate sets that threads share without locks.
//
// For C and C++ programmers; capi/README.md is the manual. Generated from capi/src: do not edit.
//
// Filters. All of them have one handle: on the heap or shared by processes, with a TTL or without. What
// only filters with a TTL can do is UNSUPPORTED for others.
//
// Pointers. A filter comes from `new`, `read`, `from_bytes`, `copy`, `copy_to_shared`, `copy_to_memfd`,
// `create_shared`, `open_shared`, `open_or_create_shared`, `create_memfd`, `from_memfd`, `open_reader` or
// `reader_from_memfd`, and ends with `free`. A length of 0 allows a null pointer. Memory passed to a call
// must not be written to during the call. Results must not overlap each other, or what the call reads.
// Null where a value is needed, misaligned pointers and impossible lengths are GUIRA_STATUS_INVALID;
// calls that return a plain value return false or 0 for them.
//
// Threads. Any number of threads may use one filter at once, for every call except `free` and `recount`.
//
// Processes. Each process has its own handle of a shared filter, and a child may use that of its
// parent.
//
// Errors. After a status other than OK, FULL and BUSY, `guira_last_message` on the same thread
// explains it. No call throws or aborts because of its arguments. Callbacks must return: neither an
// exception nor longjmp may leave them. The process aborts if there is no memory for small objects,
// of less than a few KiB.
//
// Items. A string of bytes here is the same item as the slice `[u8]` in Rust, `bytes` in Python, and
// an argument of the server's commands.


#ifndef GUIRA_H
#define GUIRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For `kind`: the data are hashes of 64 bits.
#define GUIRA_ITEMS_HASHES 0

// For `kind`: the data are items of one width, one after the other.
#define GUIRA_ITEMS_ROWS 1

// For `kind`: the data are one block, and offsets say where items begin and end.
#define GUIRA_ITEMS_PACKED 2

// For `prefer`: the fastest layout.
#define GUIRA_PREFER_SPEED 0

// For `prefer`: the smallest layout, for filters that do not grow.
#define GUIRA_PREFER_SPACE 1

// What became of a call.
typedef enum {
  // The call did what it says.
  GUIRA_STATUS_OK = 0,
  // An argument is not allowed. Nothing was changed.
  GUIRA_STATUS_INVALID = 1,
  // There is no room for the item. Nothing else was changed. Either the filter is full, or both
  // buckets of the item are full of copies of it. A remove makes room.
  GUIRA_STATUS_FULL = 2,
  // There is no memory for what the call makes, or for growth. The filter remains usable.
  GUIRA_STATUS_MEMORY = 3,
  // Other threads use what the call needs, for a short time. Call again. In a `guira_write`
  // callback, return first: the snapshot that it takes may itself be in the way.
  GUIRA_STATUS_BUSY = 4,
  // The bytes are not a snapshot that can be read, or its filter exceeds the limit of memory. Or the
  // file is not a shared filter that can be used.
  GUIRA_STATUS_SNAPSHOT = 5,
  // The caller's callback ended the call.
  GUIRA_STATUS_STOPPED = 6,
  // A bug of guira. The filter may have lost part of the effect of this call. Report it.
  GUIRA_STATUS_INTERNAL = 7,
  // This kind of filter, file system or platform cannot do it. Nothing was changed.
  GUIRA_STATUS_UNSUPPORTED = 8,
  // The operating system refuses to create, open or lock the file: the message says why.
  GUIRA_STATUS_FILE = 9,
  // There is a file of this name already.
  GUIRA_STATUS_EXISTS = 10,
  // There is no file of this name, or no longer the one that was opened.
  GUIRA_STATUS_MISSING = 11,
  // Other processes occupy all places in the filter, or the filter that this call needs for itself.
  GUIRA_STATUS_OCCUPIED = 12,
} guira_status;

// A concurrent set of items, approximate, with removal and growth. With a TTL, it forgets items some
// time after they were last seen.
typedef struct guira_filter guira_filter;

// Bytes of the library. `guira_bytes_free` frees them.
typedef struct {
  // The first byte.
  uint8_t *data;
  // The number of bytes.
  size_t len;
  // For `guira_bytes_free`.
  size_t capacity;
} guira_bytes;

// How to make a filter. Set all of it to 0, then `size`, then what you want:
// `guira_options options = {.size = sizeof options, .capacity = 1000000};`
typedef struct {
  // `sizeof(guira_options)`.
  uint64_t size;
  // Distinct items that fit at first. 0 means 1024.
  uint64_t capacity;
  // Distinct items that fit after growth. 0 means that the filter does not grow.
  uint64_t max_capacity;
  // The share of absent items that seem present, below 1. 0 means 0.001.
  double false_positive_rate;
  // The seed of the hash, if `seeded` is not 0. Else it is random.
  uint64_t seed;
  // Whether `seed` counts. A seed that clients know lets them overfill buckets.
  uint32_t seeded;
  // The bits of a fingerprint, instead of the rate. 0 chooses by the rate.
  uint32_t fingerprint_bits;
  // `GUIRA_PREFER_SPEED` or `GUIRA_PREFER_SPACE`.
  uint32_t prefer;
  // The epochs of a TTL: an item lives at most one epoch too long. 0 chooses.
  uint32_t epochs;
  // The bits of the counter that each slot has: 4 or 8. 0 means no counters. Without them 4 to 14
  // copies of one item fit, and with them 32 to 1536; copies in one slot make no filter grow. With a TTL
  // a slot has copies of one epoch: a TTL has at most 5, and an item takes up room for each in which
  // it is added.
  uint64_t counter_bits;
  // Nanoseconds for which an item lives, at least. 0 means that items stay. The capacities are then of the
  // distinct items of a TTL; to prefer space is for filters without one.
  uint64_t ttl_ns;
} guira_options;

// What a filter will take: at first, with some number of items, and at its end.
typedef struct {
  // Bytes of the empty filter.
  uint64_t bytes;
  // Bytes with the number of items that was asked for.
  uint64_t bytes_at;
  // Bytes after the last doubling.
  uint64_t max_bytes;
  // Distinct items that fit after the last doubling; with a TTL, the items that arrive within it.
  uint64_t max_items;
  // Bits of the full filter per item, after the last doubling.
  double bits_per_item;
  // The highest share of absent items that seem present, at any size.
  double false_positive_rate;
  // Copies of one item that fit at first.
  uint64_t copies;
  // How often the filter can double.
  uint64_t doublings;
} guira_sizes;

// The items of a batch. `guira_hashes`, `guira_rows` and `guira_packed` make it.
typedef struct {
  // `GUIRA_ITEMS_HASHES`, `GUIRA_ITEMS_ROWS` or `GUIRA_ITEMS_PACKED`.
  uint32_t kind;
  // 0.
  uint32_t reserved;
  // The number of items.
  size_t count;
  // Hashes: `count` numbers of 64 bits. Rows: `count` times `size` bytes. Packed: `size` bytes.
  const void *data;
  // Rows: the bytes of an item. Packed: the bytes of all items.
  size_t size;
  // Packed: `count + 1` offsets into the data. Item i is from `offsets[i]` to `offsets[i + 1]`.
  const uint64_t *offsets;
} guira_items;

// Takes the next bytes of a snapshot. A result other than 0 ends the call, with
// `GUIRA_STATUS_STOPPED`. It may use the filter, and must neither throw nor longjmp.
typedef int (*guira_write)(void *context, const uint8_t *data, size_t len);

// The nanoseconds since any fixed moment, by a clock that does not go back. It must neither
// throw nor longjmp.
typedef uint64_t (*guira_clock)(void *context);

// Fills a buffer with at most `len` bytes of a snapshot, and returns how many. 0 says that there
// are no more; a negative number ends the call, with `GUIRA_STATUS_STOPPED`. It must neither throw
// nor longjmp.
typedef ptrdiff_t (*guira_read)(void *context, uint8_t *buffer, size_t len);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Frees bytes of the library, and sets them to none. Null, and none, are nothing.
void guira_bytes_free(guira_bytes *bytes);

// Sets `*estimate` to what a filter with these options will take, where `items` is the number for
// `bytes_at`. Nothing is allocated for the filter.
guira_status guira_estimate(const guira_options *options, uint64_t items, guira_sizes *estimate);

// The hash of an item of `len` bytes in this filter, which is that of Rust's `[u8]`.
uint64_t guira_filter_hash_bytes(const guira_filter *filter, const void *item, size_t len);

// The hash of a string of `len` bytes of UTF-8, which is that of Rust's `str` and Python's
// `str`. It is not the hash of the same bytes.
guira_status guira_filter_hash_str(const guira_filter *filter,
                                   const char *text,
                                   size_t len,
                                   uint64_t *hash);

// The hash of an unsigned integer of up to 64 bits.
uint64_t guira_filter_hash_u64(const guira_filter *filter, uint64_t item);

// The hash of a signed integer of 64 bits.
uint64_t guira_filter_hash_i64(const guira_filter *filter, int64_t item);

// Adds a copy of each item, in order.
//
// `done`, if not null, is how many items from the first on are decided: all of them, unless the
// status says why the next one is not. It is 0 after INVALID, and may be
// too small after INTERNAL.
guira_status guira_filter_add_many(guira_filter *filter, const guira_items *items, size_t *done);

// Adds each item that does not seem present. `added` has `count` elements: whether each item was
// added. `done` is as for `guira_filter_add_many`.
guira_status guira_filter_add_unique_many(guira_filter *filter,
                                          const guira_items *items,
                                          bool *added,
                                          size_t *done);

// Refreshes each item that is present. `present` has `count` elements: whether each item is.
// `done` is as for `guira_filter_add_many`. UNSUPPORTED without a TTL.
guira_status guira_filter_refresh_many(guira_filter *filter,
                                       const guira_items *items,
                                       bool *present,
                                       size_t *done);

// Refreshes each item, or adds it if it is absent. `added` has `count` elements: whether each
// item was added. `done` is as for `guira_filter_add_many`. UNSUPPORTED without a TTL.
guira_status guira_filter_add_or_refresh_many(guira_filter *filter,
                                              const guira_items *items,
                                              bool *added,
                                              size_t *done);

// Whether each item is present. `results` has `count` elements.
guira_status guira_filter_contains_many(const guira_filter *filter,
                                        const guira_items *items,
                                        bool *results);

// Removes one copy of each item, in order. `results` has `count` elements: whether there was
// one.
guira_status guira_filter_remove_many(guira_filter *filter,
                                      const guira_items *items,
                                      bool *results);

// Creates the file `path` with an empty filter that processes share, and sets `*filter` to a handle, or
// to null on failure. `EXISTS` if there is a file of this name.
//
// At most `max_processes` processes can share it, from 1 to 255; 0 means 63. Only the owner can read
// and write the file. All of its memory is allocated at once, or that of its first size if it grows. Prefer
// a path in /dev/shm. On other systems than 64-bit Linux the status is UNSUPPORTED, and so it is for a filter
// with counters, and for one with a TTL that grows.
//
// With a TTL, nothing expires unless a process calls `guira_filter_tick`. One process is enough, and several
// may call it. All processes go by the time since the machine started, so the call takes no other clock.
//
// While a process uses the file, nothing else may write to it or truncate it: after a truncation, the
// next access ends the process with SIGBUS.
guira_status guira_filter_create_shared(const char *path,
                                        const guira_options *options,
                                        uint32_t max_processes,
                                        guira_filter **filter);

// Opens the filter in the file `path`, and sets `*filter` to a handle, or to null on failure. `MISSING`
// if there is no file, and `OCCUPIED` if all places are taken. The file determines the options and the
// seed. Takes microseconds.
guira_status guira_filter_open_shared(const char *path,
                                      guira_filter **filter);

// Opens the file `path`, or creates it as `guira_filter_create_shared` does. `created`, if not null, is
// whether this call created it. Of processes that race, one creates it. A filter that exists keeps its
// own options, and its TTL or none.
guira_status guira_filter_open_or_create_shared(const char *path,
                                                const guira_options *options,
                                                uint32_t max_processes,
                                                guira_filter **filter,
                                                bool *created);

// Makes an empty filter in memory without a name, and sets `*filter` to a handle, or to null on failure.
// Child processes share it, and other processes that get its descriptor. `max_processes` and the options
// mean the same as for `guira_filter_create_shared`. The memory is freed with the last process that uses it, and
// cannot be truncated.
guira_status guira_filter_create_memfd(const guira_options *options,
                                       uint32_t max_processes,
                                       guira_filter **filter);

// Creates the file `path` with a copy of `filter`, which need not be shared, and sets `*copy` to a handle of
// it, or to null on failure. So a snapshot becomes a shared filter. Threads may use `filter` during the
// call. The file gets its name when the copy is complete. The rest is as for `guira_filter_create_shared`.
// `FULL` if `filter` has more items than its capacity, and they do not fit in another order.
guira_status guira_filter_copy_to_shared(const guira_filter *filter,
                                         const char *path,
                                         uint32_t max_processes,
                                         guira_filter **copy);

// Makes a copy of `filter` in memory without a name: `guira_filter_copy_to_shared`, with the memory of
// `guira_filter_create_memfd`.
guira_status guira_filter_copy_to_memfd(const guira_filter *filter,
                                        uint32_t max_processes,
                                        guira_filter **copy);

// Opens the filter behind a descriptor of `guira_filter_create_memfd`, and sets `*filter` to a handle, or
// to null on failure. The descriptor remains the caller's, and can be closed. Contents that are no filter
// are `SNAPSHOT`, as is memory that can be truncated.
guira_status guira_filter_from_memfd(int descriptor,
                                     guira_filter **filter);

// Opens the filter in the file `path` for lookups, and sets `*filter` to a handle, or to null on failure.
// `MISSING` if there is no file. Any number of processes can do this. The file has to be used as
// `guira_filter_create_shared` says.
//
// The process needs no permission to write the file, and takes no place. Calls that change, scan or copy the
// filter are UNSUPPORTED, and so are those about its processes; removes of one item return false. Lookups go
// by the epoch that the other processes have begun last: if none of them ticks, nothing expires, as
// `guira_filter_epoch_age_ns` shows.
guira_status guira_filter_open_reader(const char *path,
                                      guira_filter **filter);

// Opens the filter behind a descriptor of `guira_filter_create_memfd` for lookups, as
// `guira_filter_open_reader` does. The descriptor need not be writable, and remains the caller's.
guira_status guira_filter_reader_from_memfd(int descriptor, guira_filter **filter);

// The descriptor of a filter that `guira_filter_create_memfd` or `guira_filter_from_memfd` has made, and
// -1 for others. It belongs to the filter: do not close it. Send it to another process over a Unix
// socket, for example.
int guira_filter_memfd(const guira_filter *filter);

// Sets `*clean` to false if a process was killed while it used the shared filter, before this handle was
// made and after the last `guira_filter_recount`. No item is lost then, but `guira_filter_len` may be off.
guira_status guira_filter_was_closed_cleanly(const guira_filter *filter,
                                             bool *clean);

// Whether processes share the filter. True for a handle that only looks items up.
bool guira_filter_is_shared(const guira_filter *filter);

// Takes a place in a shared filter for this process, unless it has one. `OCCUPIED` if all places are
// taken.
//
// Opening a file takes a place. A child process that uses its parent's handle takes its own by this
// call, or in its first call that needs one. Without a place a process can look up, remove, and add to
// buckets that have room.
guira_status guira_filter_attach(guira_filter *filter);

// Completes or undoes what killed processes have begun in a shared filter. `processes`, if not null, is
// how many there were.
//
// Adds do this when they find no room. Call it when a process has died, as its parent knows.
guira_status guira_filter_repair(guira_filter *filter,
                                 size_t *processes);

// Makes `guira_filter_len` of a shared filter exact again after processes were killed. `len`, if not
// null, is the number of copies. `OCCUPIED` if another process has a place in the filter.
//
// No other call may use this handle at the same time, as for `guira_filter_free`.
guira_status guira_filter_recount(guira_filter *filter,
                                  size_t *len);

// How many processes have a place in a shared filter, how many can have one, and how many have died
// with one and were repaired. Each result may be null.
guira_status guira_filter_participants(const guira_filter *filter,
                                       size_t *in_use,
                                       size_t *max,
                                       uint64_t *deaths);

// Adds a copy of an item of `len` bytes. Copies of one item are limited: 4 to 14 fit, or
// 32 to 1536 with counters, by the options.
guira_status guira_filter_add(guira_filter *filter, const void *item, size_t len);

// Adds a copy of an item of `len` bytes. `count`, if not null, is how many copies there are now: with a
// TTL those within it, so that this call is a rate limit. Of calls that race, at most n get a count up to
// n. `FULL` if no further copy fits.
guira_status guira_filter_add_and_count(guira_filter *filter,
                                        const void *item,
                                        size_t len,
                                        size_t *count);

// Adds an item of `len` bytes unless it seems present. `added`, if not null, is whether this
// call added it. Of calls that race to add an absent item, exactly one adds it.
guira_status guira_filter_add_unique(guira_filter *filter,
                                     const void *item,
                                     size_t len,
                                     bool *added);

// Whether an item of `len` bytes is present. False is certain; true is wrong at the
// false-positive rate.
bool guira_filter_contains(const guira_filter *filter, const void *item, size_t len);

// Removes one copy of an item of `len` bytes, and says whether there was one. Remove only what
// was added: else it may remove a copy of an item that looks alike.
bool guira_filter_remove(guira_filter *filter, const void *item, size_t len);

// The copies of an item of `len` bytes, and of items that look alike.
size_t guira_filter_count(const guira_filter *filter, const void *item, size_t len);

// Lets an item of `len` bytes live for a whole TTL from now, if it is present. `present`, if not
// null, is whether it is. UNSUPPORTED without a TTL.
guira_status guira_filter_refresh(guira_filter *filter,
                                  const void *item,
                                  size_t len,
                                  bool *present);

// Refreshes an item of `len` bytes, or adds it if it is absent. `added`, if not null, is whether
// it was added. UNSUPPORTED without a TTL.
guira_status guira_filter_add_or_refresh(guira_filter *filter,
                                         const void *item,
                                         size_t len,
                                         bool *added);

// Adds a copy of the item with this hash. Copies of one item are limited: 4 to 14 fit,
// or 32 to 1536 with counters, by the options.
//
// All 64 bits of the hash must be as good as random: `guira_filter_hash_bytes` and its like make
// them.
guira_status guira_filter_add_hash(guira_filter *filter, uint64_t hash);

// Adds a copy of the item with this hash. `count`, if not null, is how many copies there are now, as for
// `guira_filter_add_and_count`.
guira_status guira_filter_add_and_count_hash(guira_filter *filter,
                                             uint64_t hash,
                                             size_t *count);

// Adds the item with this hash unless it seems present. `added`, if not null, is whether this
// call added it. Of calls that race to add an absent item, exactly one adds it.
guira_status guira_filter_add_unique_hash(guira_filter *filter, uint64_t hash, bool *added);

// Whether the item with this hash is present. False is certain; true is wrong at the
// false-positive rate.
bool guira_filter_contains_hash(const guira_filter *filter, uint64_t hash);

// Removes one copy of the item with this hash, and says whether there was one. Remove only what
// was added: else it may remove a copy of an item that looks alike.
bool guira_filter_remove_hash(guira_filter *filter, uint64_t hash);

// The copies of the item with this hash, and of items that look alike.
size_t guira_filter_count_hash(const guira_filter *filter, uint64_t hash);

// Lets the item with this hash live for a whole TTL from now, if it is present. `present`, if
// not null, is whether it is. UNSUPPORTED without a TTL.
guira_status guira_filter_refresh_hash(guira_filter *filter, uint64_t hash, bool *present);

// Refreshes the item with this hash, or adds it if it is absent. `added`, if not null, is
// whether it was added. UNSUPPORTED without a TTL.
guira_status guira_filter_add_or_refresh_hash(guira_filter *filter, uint64_t hash, bool *added);

// Writes a snapshot to a callback, while threads use the filter. Items that are present during
// the whole call are in it.
//
// With a TTL, the age of the epoch is by the library's own clock. A filter whose ticks read another clock
// needs `guira_filter_write_at`.
guira_status guira_filter_write(const guira_filter *filter,
                                guira_write write,
                                void *context);

// Writes a snapshot to memory of the library, and sets `*bytes` to it, or to none on failure.
// `guira_bytes_free` frees it. A filter whose ticks read a clock of the caller needs
// `guira_filter_to_bytes_at`.
guira_status guira_filter_to_bytes(const guira_filter *filter, guira_bytes *bytes);

// As `guira_filter_write`, for a filter whose ticks read `clock`: pass the same clock here.
//
// The snapshot has the age of the epoch by that clock, which is read at the end of the call, and
// again if an epoch begins then. By any other clock the age is lost, and items live up to an epoch
// too long after each restart. Null is the library's own clock, and the one of a shared filter.
// UNSUPPORTED without a TTL.
guira_status guira_filter_write_at(const guira_filter *filter,
                                   guira_write write,
                                   void *context,
                                   guira_clock clock,
                                   void *clock_context);

// As `guira_filter_to_bytes`, for a filter whose ticks read `clock`: pass the same clock here,
// as to `guira_filter_write_at`.
guira_status guira_filter_to_bytes_at(const guira_filter *filter,
                                      guira_bytes *bytes,
                                      guira_clock clock,
                                      void *clock_context);

// Makes the filter of a snapshot of `len` bytes, which may come from anyone. A table of more
// than `max_bytes` bytes is refused.
//
// `elapsed_ns` is the age of the snapshot: items of a filter with a TTL expire as if it had lived on. If
// its ticks will read a clock of the caller, tick it once right after this call: the age of its epoch counts
// from there.
guira_status guira_filter_from_bytes(const void *data,
                                     size_t len,
                                     size_t max_bytes,
                                     uint64_t elapsed_ns,
                                     guira_filter **filter);

// Makes the filter of a snapshot that a callback reads to its end. As
// `guira_filter_from_bytes`.
guira_status guira_filter_read(guira_read read,
                               void *context,
                               size_t max_bytes,
                               uint64_t elapsed_ns,
                               guira_filter **filter);

// Makes a filter, and sets `*filter` to it, or to null on failure. `guira_filter_free` frees it.
guira_status guira_filter_new(const guira_options *options, guira_filter **filter);

// Frees a filter. No other call may use it at the same time or later. Null is nothing. The file of a
// shared filter stays.
void guira_filter_free(guira_filter *filter);

// Copies the filter, while threads use it, and sets `*copy` to the copy, or to null on failure. The
// copy of a shared filter is not shared.
guira_status guira_filter_copy(const guira_filter *filter, guira_filter **copy);

// Adds all items of `other`, while threads use both. They must have equal options and seeds. A
// snapshot of either may be taken at the same time. Two handles of one shared filter are INVALID.
guira_status guira_filter_merge(guira_filter *filter, const guira_filter *other);

// Adds what `other` has and `filter` lacks, while threads use both. Each item is then in as often as
// in the filter that had it most often. They must have equal options and seeds. After a failure, a
// further call adds the rest.
//
// With a TTL, an item is then as young as in the filter that has seen it last. Unite in one direction:
// filters that are united back and forth, once per epoch, keep their items for ever.
guira_status guira_filter_union_with(guira_filter *filter,
                                     const guira_filter *other);

// Removes what `other` lacks, while threads use both. Each item is then in as often as in the filter
// that had it least often; with a TTL the youngest copies stay. They must have equal options and seeds.
// After a failure, a further call removes the rest.
guira_status guira_filter_intersect_with(guira_filter *filter,
                                         const guira_filter *other);

// Removes all copies of what `other` has, while threads use both. They must have equal options and
// seeds. At the false-positive rate, this also removes items that `other` lacks. After a failure, a
// further call removes the rest.
guira_status guira_filter_difference_with(guira_filter *filter, const guira_filter *other);

// Removes all items that were present when the call began.
guira_status guira_filter_clear(guira_filter *filter);

// Completes the doubling that is in progress, for a filter that becomes idle.
guira_status guira_filter_finish_growth(guira_filter *filter);

// A digest of the contents, in two numbers, the lower one first: equal for filters with equal
// options, seeds and items.
guira_status guira_filter_digest(const guira_filter *filter, uint64_t *digest);

// The copies in the filter, including expired ones that are not swept yet. Exact while no thread writes.
// `guira_filter_recount` makes that of a shared filter exact after processes were killed.
size_t guira_filter_len(const guira_filter *filter);

// The distinct items for which the filter has room at its present size; with a TTL, those of a TTL.
size_t guira_filter_capacity(const guira_filter *filter);

// The distinct items for which the filter has room after its last doubling.
size_t guira_filter_max_capacity(const guira_filter *filter);

// The bytes of memory that the filter occupies, including the file of a shared filter.
size_t guira_filter_memory_usage(const guira_filter *filter);

// The share of slots in use, from 0 to 1.
double guira_filter_load_factor(const guira_filter *filter);

// The slots in use: the copies in the filter, or with counters about the number of distinct items.
size_t guira_filter_slots_in_use(const guira_filter *filter);

// The bits of the counter that each slot has; 0 without counters.
uint32_t guira_filter_counter_bits(const guira_filter *filter);

// The expected share of absent items that seem present when the filter is full.
double guira_filter_false_positive_rate(const guira_filter *filter);

// The bytes of a snapshot that begins now. It is longer only if the filter doubles during it.
size_t guira_filter_snapshot_len(const guira_filter *filter);

// The seed of the hash. Keep it secret if clients choose the items.
uint64_t guira_filter_seed(const guira_filter *filter);

// Begins the next epoch if it is due, and sweeps expired items: O(capacity) then, else O(1). `clock` is
// read, twice at most; null is the library's own clock, which runs while the machine does. All calls for
// one filter must use one clock.
//
// Calls that write to a filter on the heap let time pass by themselves, by the library's own clock. Calls
// of this one about four times per epoch keep that work out of them; after the first one with another
// `clock`, nothing else lets time pass. In a shared filter nothing expires without such calls.
//
// However late a call is, it expires what was last seen a TTL before the current epoch began. A reading
// that is not later than an earlier one changes nothing.
//
// A shared filter goes by the clock of all its processes, which also runs while the machine is suspended:
// another `clock` is UNSUPPORTED, as is a filter without a TTL. `OCCUPIED` if the call needs a place and
// all are taken. While a stopped process is in the way, no epoch begins: the next call tries again.
//
// `began`, if not null, is whether this call began an epoch.
guira_status guira_filter_tick(guira_filter *filter,
                               guira_clock clock,
                               void *context,
                               bool *began);

// Begins the next epoch and sweeps, for a caller that counts epochs itself. `began`, if not
// null, is false if another thread began it during the call, or if a stopped process is in the way.
// UNSUPPORTED without a TTL.
guira_status guira_filter_advance(guira_filter *filter, bool *began);

// The nanoseconds for which an item lives, at least; 0 without a TTL.
uint64_t guira_filter_ttl_ns(const guira_filter *filter);

// The number of epochs that have begun; 0 without a TTL.
uint64_t guira_filter_epoch(const guira_filter *filter);

// The nanoseconds of an epoch; 0 without a TTL.
uint64_t guira_filter_epoch_length_ns(const guira_filter *filter);

// The nanoseconds for which the current epoch has lasted, by the library's own clock or that of a shared
// filter; 0 without a TTL. The next epoch is due when they reach `guira_filter_epoch_length_ns`: much more
// says that no process ticks. `UINT64_MAX` if it is unknown when the epoch began: the next
// `guira_filter_tick` measures from then on.
uint64_t guira_filter_epoch_age_ns(const guira_filter *filter);

// Explains the last status of this thread that was neither OK, FULL nor BUSY. Empty if there was
// none. The text is UTF-8, of at most 255 bytes. It is valid until the next call on this thread.
const char *guira_last_message(void);

// The version of the library, such as "0.1.0".
const char *guira_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GUIRA_H */

#ifndef GUIRA_ITEMS_MADE
#define GUIRA_ITEMS_MADE

// The constructors of guira_items.

static inline guira_items guira_hashes(const uint64_t *hashes, size_t count) {
    guira_items items;
    items.kind = GUIRA_ITEMS_HASHES;
    items.reserved = 0;
    items.count = count;
    items.data = hashes;
    items.size = 0;
    items.offsets = NULL;
    return items;
}

static inline guira_items guira_rows(const void *data, size_t width, size_t count) {
    guira_items items;
    items.kind = GUIRA_ITEMS_ROWS;
    items.reserved = 0;
    items.count = count;
    items.data = data;
    items.size = width;
    items.offsets = NULL;
    return items;
}

static inline guira_items guira_packed(const void *data, size_t size, const uint64_t *offsets,
                                       size_t count) {
    guira_items items;
    items.kind = GUIRA_ITEMS_PACKED;
    items.reserved = 0;
    items.count = count;
    items.data = data;
    items.size = size;
    items.offsets = offsets;
    return items;
}

#endif
