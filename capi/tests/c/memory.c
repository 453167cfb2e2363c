// What calls do without memory: MEMORY, and BUSY while a snapshot is in progress. The allocator of
// this program refuses large requests on demand. It needs the GNU C library.
#include "check.h"
#include <errno.h>
#include <stdatomic.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);

// The bytes from which on a request is refused.
static atomic_size_t refused = SIZE_MAX;

void *malloc(size_t size) { return size < refused ? __libc_malloc(size) : NULL; }

void *calloc(size_t count, size_t size) {
    return size == 0 || count < refused / size ? __libc_calloc(count, size) : NULL;
}

void *realloc(void *memory, size_t size) {
    return size < refused ? __libc_realloc(memory, size) : NULL;
}

void *aligned_alloc(size_t align, size_t size) {
    return size < refused ? __libc_memalign(align, size) : NULL;
}

int posix_memalign(void **memory, size_t align, size_t size) {
    *memory = aligned_alloc(align, size);
    return *memory ? 0 : ENOMEM;
}

enum { ITEMS = 100000 };

static void what_is_made_needs_memory(uint64_t ttl) {
    guira_options options = options_of(ITEMS, ttl);
    guira_filter *filter = made_of(options), *other = NULL;
    guira_bytes bytes = {NULL, 0, 0}, none = {(uint8_t *)&bytes, 1, 1}, none_at = none;
    OK(guira_filter_add(filter, "ani", 3));
    OK(guira_filter_to_bytes(filter, &bytes));

    refused = 64 << 10;
    guira_status status[] = {
        guira_filter_new(&options, &other),
        guira_filter_copy(filter, &other),
        guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &other),
        guira_filter_to_bytes(filter, &none),
        ttl ? guira_filter_to_bytes_at(filter, &none_at, NULL, NULL) : GUIRA_STATUS_MEMORY,
    };
    refused = SIZE_MAX;
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        if (status[i] != GUIRA_STATUS_MEMORY) fprintf(stderr, "call %zu: status %d\n", i, status[i]);
        CHECK(status[i] == GUIRA_STATUS_MEMORY);
    }
    CHECK(strstr(guira_last_message(), "no memory for a snapshot of") != NULL);
    CHECK(other == NULL && none.data == NULL && (!ttl || none_at.data == NULL));
    CHECK(guira_filter_contains(filter, "ani", 3));
    OK(guira_filter_copy(filter, &other));
    guira_bytes_free(&bytes);
    guira_filter_free(filter);
    guira_filter_free(other);
}

static void growth_needs_memory(uint64_t ttl) {
    guira_options options = options_of(ITEMS, ttl);
    options.max_capacity = 8 * ITEMS;
    guira_filter *filter = made_of(options);
    uint64_t hashes[256];
    guira_items items = guira_hashes(hashes, 256);
    guira_status status = GUIRA_STATUS_OK;
    size_t done = 0;
    uint64_t next = 0;
    refused = 64 << 10;
    while (status == GUIRA_STATUS_OK && next < 8 * ITEMS) {
        for (int i = 0; i < 256; i++) hashes[i] = guira_filter_hash_u64(filter, next++);
        status = guira_filter_add_many(filter, &items, &done);
    }
    refused = SIZE_MAX;
    CHECK(status == GUIRA_STATUS_MEMORY && done < 256);
    // The items before it are in the filter, and with memory the rest fits.
    CHECK(guira_filter_len(filter) == next - 256 + done);
    items = guira_hashes(hashes + done, 256 - done);
    OK(guira_filter_add_many(filter, &items, NULL));
    CHECK(guira_filter_len(filter) == next);
    guira_filter_free(filter);
}

typedef struct {
    guira_filter *filter;
    uint64_t next;
    int busy, calls;
} scan;

// While the snapshot waits here, inserts that have to move items past it find no memory to help it.
static int insert_during_scan(void *context, const uint8_t *data, size_t len) {
    scan *self = context;
    (void)data, (void)len;
    if (++self->calls != 4) return 0;
    refused = 512;
    for (int i = 0; i < 20000 && self->busy == 0; i++) {
        uint64_t hash = guira_filter_hash_u64(self->filter, self->next++);
        guira_status status = guira_filter_add_hash(self->filter, hash);
        CHECK(status == GUIRA_STATUS_OK || status == GUIRA_STATUS_FULL || status == GUIRA_STATUS_BUSY);
        if (status == GUIRA_STATUS_BUSY) {
            self->busy++;
            refused = SIZE_MAX;
            // With memory it does not have to wait for the snapshot.
            status = guira_filter_add_hash(self->filter, hash);
            CHECK(status == GUIRA_STATUS_OK || status == GUIRA_STATUS_FULL);
        }
    }
    refused = SIZE_MAX;
    return 0;
}

static void a_snapshot_in_progress_can_be_in_the_way(void) {
    guira_filter *filter = new_filter(ITEMS, STAYS);
    scan self = {filter, 0, 0, 0};
    while (guira_filter_add_hash(filter, guira_filter_hash_u64(filter, self.next)) == GUIRA_STATUS_OK) self.next++;
    for (uint64_t item = 0; item < self.next; item += 40) {
        CHECK(guira_filter_remove_hash(filter, guira_filter_hash_u64(filter, item)));
    }
    OK(guira_filter_write(filter, insert_during_scan, &self));
    CHECK(self.busy == 1);
    guira_filter_free(filter);
}

int main(void) {
    for (int kind = 0; kind < 2; kind++) {
        what_is_made_needs_memory(kind ? HOUR : STAYS);
        growth_needs_memory(kind ? HOUR : STAYS);
    }
    a_snapshot_in_progress_can_be_in_the_way();
    puts("memory.c: passed");
    return 0;
}
