// Expiring filters that processes share: every call, epochs that any process begins, killed processes, and
// readers. Where filters cannot be shared, that the status says so.
#include "processes.h"
#include <stdatomic.h>

enum { MS = 1000000 };

static guira_expiring_options options(uint64_t ttl_ns) {
    guira_expiring_options made = {
        .size = sizeof made, .ttl_ns = ttl_ns, .capacity = 4000, .epochs = 2, .seed = 7, .seeded = 1};
    return made;
}

static guira_expiring *create(const char *file, uint64_t ttl_ns) {
    guira_expiring_options made = options(ttl_ns);
    guira_expiring *filter = NULL;
    OK(guira_expiring_create_shared(file, &made, 0, &filter));
    return filter;
}

static guira_expiring *open_shared(const char *file) {
    guira_expiring *filter = NULL;
    OK(guira_expiring_open_shared(file, &filter));
    return filter;
}

static guira_expiring_reader *open_reader(const char *file) {
    guira_expiring_reader *reader = NULL;
    OK(guira_expiring_reader_open_shared(file, &reader));
    return reader;
}

// Begins the next epoch when it is due.
static void tick(guira_expiring *filter) {
    bool began = false;
    while (!began) OK(guira_expiring_tick(filter, NULL, NULL, &began));
}

static void advance(guira_expiring *filter) {
    bool began = false;
    OK(guira_expiring_advance(filter, &began));
    CHECK(began);
}

static int nothing(void *context, const uint8_t *data, size_t len) {
    (void)data;
    *(size_t *)context += len;
    return 0;
}

static uint64_t read_clock(void *context) {
    (void)context;
    return 0;
}

static const uint64_t HOUR = 3600000000000;

// Each call for expiring filters, on one handle; what it wrote is seen through another.
static void every_call_takes_a_shared_handle(void) {
    const char *file = fresh();
    guira_expiring *f = create(file, HOUR), *other = open_shared(file), *copy = NULL, *heap = new_expiring(4000, HOUR);
    CHECK(guira_expiring_is_shared(f) && guira_expiring_is_shared(other) && !guira_expiring_is_shared(heap));
    bool yes = false;
    OK(guira_expiring_add(f, "ani", 3));
    CHECK(guira_expiring_contains(other, "ani", 3) && !guira_expiring_contains(other, "koel", 4));
    OK(guira_expiring_add_unique(other, "ani", 3, &yes));
    CHECK(!yes && guira_expiring_count(f, "ani", 3) == 1 && guira_expiring_len(other) == 1);
    OK(guira_expiring_refresh(other, "ani", 3, &yes));
    CHECK(yes);
    OK(guira_expiring_add_or_refresh(other, "koel", 4, &yes));
    CHECK(yes && guira_expiring_remove(f, "koel", 4) && !guira_expiring_remove(other, "koel", 4));

    // By hash: the same item.
    uint64_t hash = guira_expiring_hash_bytes(f, "ani", 3), number = 0;
    CHECK(hash == guira_expiring_hash_bytes(heap, "ani", 3) && guira_expiring_seed(f) == 7);
    CHECK(guira_expiring_hash_u64(f, 5) == guira_expiring_hash_u64(heap, 5));
    CHECK(guira_expiring_hash_i64(f, -5) == guira_expiring_hash_i64(heap, -5));
    OK(guira_expiring_hash_str(f, "ani", 3, &number));
    CHECK(number != hash && guira_expiring_contains_hash(other, hash) && guira_expiring_remove_hash(other, hash));
    OK(guira_expiring_add_unique_hash(f, hash, &yes));
    CHECK(yes);
    OK(guira_expiring_add_hash(other, hash));
    OK(guira_expiring_refresh_hash(other, hash, &yes));
    CHECK(yes && guira_expiring_count_hash(f, hash) == 2);
    OK(guira_expiring_add_or_refresh_hash(f, hash, &yes));
    CHECK(!yes);

    enum { MANY = 1300 };
    uint32_t rows[MANY];
    bool results[MANY];
    size_t done = 0;
    for (uint32_t i = 0; i < MANY; i++) rows[i] = i;
    guira_items items = guira_rows(rows, 4, MANY);
    OK(guira_expiring_add_many(f, &items, &done));
    CHECK(done == MANY);
    OK(guira_expiring_add_unique_many(other, &items, results, &done));
    for (int i = 0; i < MANY; i++) CHECK(!results[i]);
    OK(guira_expiring_add_or_refresh_many(other, &items, results, &done));
    for (int i = 0; i < MANY; i++) CHECK(!results[i]);
    OK(guira_expiring_refresh_many(other, &items, results, &done));
    for (int i = 0; i < MANY; i++) CHECK(results[i]);
    OK(guira_expiring_contains_many(other, &items, results));
    for (int i = 0; i < MANY; i++) CHECK(results[i]);
    CHECK(done == MANY && guira_expiring_len(f) == MANY + 2);

    // Snapshots and copies are of the heap, and equal.
    guira_bytes bytes = {NULL, 0, 0};
    size_t written = 0;
    uint64_t digest[2], copied[2];
    OK(guira_expiring_to_bytes(f, &bytes));
    OK(guira_expiring_write(other, nothing, &written));
    CHECK(bytes.len == written && guira_expiring_snapshot_len(f) == written);
    guira_expiring *read = NULL;
    OK(guira_expiring_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &read));
    guira_bytes_free(&bytes);
    OK(guira_expiring_copy(f, &copy));
    CHECK(!guira_expiring_is_shared(copy) && guira_expiring_len(copy) == MANY + 2);
    OK(guira_expiring_digest(other, digest));
    OK(guira_expiring_digest(read, copied));
    CHECK(memcmp(digest, copied, sizeof digest) == 0);
    OK(guira_expiring_write_at(other, nothing, &written, NULL, NULL));
    OK(guira_expiring_to_bytes_at(other, &bytes, NULL, NULL));
    guira_bytes_free(&bytes);

    // Merges go both ways.
    OK(guira_expiring_union_with(f, copy));
    CHECK(guira_expiring_len(f) == MANY + 2);
    OK(guira_expiring_clear(f));
    OK(guira_expiring_merge(f, copy));
    OK(guira_expiring_clear(copy));
    OK(guira_expiring_merge(copy, other));
    CHECK(guira_expiring_len(other) == MANY + 2 && guira_expiring_len(copy) == MANY + 2);
    OK(guira_expiring_finish_growth(f));
    CHECK(guira_expiring_capacity(f) == 4000 && guira_expiring_max_capacity(f) == 4000);
    CHECK(guira_expiring_memory_usage(f) > 4000 && guira_expiring_load_factor(f) > 0.1);
    CHECK(guira_expiring_false_positive_rate(f) > 0 && guira_expiring_false_positive_rate(f) < 0.01);
    OK(guira_expiring_remove_many(f, &items, results));
    for (int i = 0; i < MANY; i++) CHECK(results[i]);

    // All handles go by one clock, and no other.
    CHECK(guira_expiring_epoch(f) == 0 && guira_expiring_epoch_length_ns(f) == HOUR / 2);
    CHECK(guira_expiring_epoch_age_ns(other) < HOUR / 2);
    OK(guira_expiring_tick(other, NULL, NULL, &yes));
    CHECK(!yes);
    const char *clock = "clock of all its processes";
    REFUSED(GUIRA_STATUS_UNSUPPORTED, clock, guira_expiring_tick(f, read_clock, NULL, &yes));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, clock, guira_expiring_write_at(f, nothing, &written, read_clock, NULL));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, clock, guira_expiring_to_bytes_at(f, &bytes, read_clock, NULL));
    for (int epoch = 1; epoch <= 3; epoch++) {
        CHECK(guira_expiring_contains_hash(other, hash));
        advance(epoch % 2 ? f : other);
        // It is unknown when this epoch began.
        CHECK(guira_expiring_epoch(other) == (uint64_t)epoch && guira_expiring_epoch_age_ns(f) == UINT64_MAX);
    }
    CHECK(!guira_expiring_contains_hash(f, hash) && guira_expiring_len(other) == 0);

    // What is for shared filters only.
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "not shared", guira_expiring_attach(heap));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "not shared", guira_expiring_repair(heap, NULL));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "not shared", guira_expiring_recount(heap, NULL));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "not shared", guira_expiring_participants(heap, NULL, NULL, NULL));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "not shared", guira_expiring_was_closed_cleanly(heap, &yes));
    CHECK(guira_expiring_memfd(heap) == -1 && guira_expiring_memfd(f) == -1);
    guira_expiring_free(f);
    guira_expiring_free(other);
    guira_expiring_free(copy);
    guira_expiring_free(read);
    guira_expiring_free(heap);
}

typedef struct {
    const char *file;
    guira_expiring *inherited;
    bool opens;
    atomic_uint *winners;
} race;

enum { PROCESSES = 4, RACED = 3000 };

static void race_for_all(void *argument) {
    race *self = argument;
    guira_expiring *f = self->opens ? open_shared(self->file) : self->inherited;
    for (uint64_t i = 0; i < RACED; i++) {
        bool added = false;
        guira_status status;
        do {
            status = guira_expiring_add_unique(f, &i, sizeof i, &added);
        } while (status == GUIRA_STATUS_BUSY);
        CHECK(status == GUIRA_STATUS_OK);
        if (added) atomic_fetch_add(&self->winners[i], 1);
    }
    guira_expiring_free(f);
}

// Half of the processes open the file, and half use the handle of their parent.
static void of_racing_processes_exactly_one_wins(void) {
    const char *file = fresh();
    guira_expiring *f = create(file, HOUR);
    atomic_uint *winners = shared_memory(RACED * sizeof *winners);
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        race self = {file, f, i % 2 == 0, winners};
        pids[i] = start(race_for_all, &self);
    }
    for (int i = 0; i < PROCESSES; i++) ended(pids[i]);
    size_t won = 0, len = 0;
    for (uint64_t i = 0; i < RACED; i++) {
        CHECK(winners[i] <= 1);
        won += winners[i];
    }
    CHECK(won > RACED - RACED / 100);
    OK(guira_expiring_recount(f, &len));
    CHECK(len == won);
    munmap(winners, RACED * sizeof *winners);
    guira_expiring_free(f);
}

typedef struct {
    const char *file;
    atomic_ullong *acknowledged;
    uint64_t first;
} killed;

// Adds and refreshes items, and begins an epoch after each tenth, until it is killed.
static void use_until_killed(void *argument) {
    killed *self = argument;
    guira_expiring *f = open_shared(self->file);
    for (uint64_t next = self->first;; next++) {
        bool yes;
        guira_status status = guira_expiring_add(f, &next, sizeof next);
        if (status == GUIRA_STATUS_OK) atomic_store(self->acknowledged, next + 1);
        (void)guira_expiring_refresh(f, &next, sizeof next, &yes);
        if (next % 10 == 9) advance(f);
    }
}

// What a killed process has added is there for a TTL, and then gone, as a reader sees it, too.
static void killed_processes_lose_nothing_and_keep_nothing(void) {
    const char *file = fresh();
    guira_expiring *f = create(file, HOUR);
    guira_expiring_reader *r = open_reader(file);
    atomic_ullong *acknowledged = shared_memory(sizeof *acknowledged);
    srand(7);
    for (uint64_t death = 0; death < 8; death++) {
        killed self = {file, acknowledged, death << 32};
        int status = 0;
        atomic_store(acknowledged, self.first);
        pid_t pid = start(use_until_killed, &self);
        while (atomic_load(acknowledged) < self.first + 20) CHECK(waitpid(pid, &status, WNOHANG) == 0);
        usleep((useconds_t)rand() % 500);
        CHECK(kill(pid, SIGKILL) == 0);
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        size_t repaired = 0;
        OK(guira_expiring_repair(f, &repaired));
        CHECK(repaired <= 1);
        // At most one epoch has begun since.
        uint64_t last = atomic_load(acknowledged) - 1;
        CHECK(guira_expiring_contains(f, &last, sizeof last) && guira_expiring_reader_contains(r, &last, sizeof last));
        for (int epoch = 0; epoch < 3; epoch++) advance(f);
        for (uint64_t item = self.first; item <= last; item++) {
            // A few look like others.
            CHECK(guira_expiring_contains(f, &item, sizeof item) == guira_expiring_reader_contains(r, &item, sizeof item));
        }
        CHECK(guira_expiring_reader_len(r) == guira_expiring_len(f));
    }
    size_t len = 9, in_use = 9, max = 0;
    uint64_t deaths = 0;
    bool clean = true;
    OK(guira_expiring_participants(f, &in_use, &max, &deaths));
    CHECK(in_use == 1 && max == 63 && deaths <= 8);
    guira_expiring *late = open_shared(file);
    OK(guira_expiring_was_closed_cleanly(late, &clean));
    CHECK(clean == (deaths == 0));
    guira_expiring_free(late);
    OK(guira_expiring_recount(f, &len));
    CHECK(len == 0);
    munmap(acknowledged, sizeof *acknowledged);
    guira_expiring_reader_free(r);
    guira_expiring_free(f);
}

static void find_no_place(void *argument) {
    guira_expiring *f = argument;
    bool yes = true;
    guira_bytes bytes;
    const guira_status occupied = GUIRA_STATUS_OCCUPIED;
    REFUSED(occupied, "1 processes", guira_expiring_attach(f));
    REFUSED(occupied, "1 processes", guira_expiring_tick(f, NULL, NULL, &yes));
    REFUSED(occupied, "1 processes", guira_expiring_advance(f, &yes));
    REFUSED(occupied, "1 processes", guira_expiring_add_unique(f, "a", 1, &yes));
    REFUSED(occupied, "1 processes", guira_expiring_to_bytes(f, &bytes));
    REFUSED(occupied, "1 processes", guira_expiring_clear(f));
    // What needs no place.
    OK(guira_expiring_add(f, "a", 1));
    CHECK(guira_expiring_contains(f, "a", 1) && guira_expiring_remove(f, "a", 1));
}

static void places_are_limited(void) {
    guira_expiring_options made = options(HOUR);
    guira_expiring *f = NULL;
    OK(guira_expiring_create_shared(fresh(), &made, 1, &f));
    ended(start(find_no_place, f));
    OK(guira_expiring_recount(f, NULL));
    guira_expiring_free(f);
}

static void other_files_are_refused(void) {
    guira_expiring *f = NULL;
    guira_expiring_reader *r = NULL;
    guira_filter *plain = NULL;
    guira_reader *plain_reader = NULL;
    guira_expiring_options made = options(HOUR);
    guira_options plain_options = {.size = sizeof plain_options};
    bool created = true;
    const char *file = fresh();
    REFUSED(GUIRA_STATUS_MISSING, "No such file", guira_expiring_open_shared(file, &f));
    OK(guira_expiring_open_or_create_shared(file, &made, 0, &f, &created));
    CHECK(created);
    guira_expiring_free(f);
    OK(guira_expiring_open_or_create_shared(file, NULL, 0, &f, &created));
    CHECK(!created && guira_expiring_seed(f) == 7);
    guira_expiring_free(f);
    REFUSED(GUIRA_STATUS_EXISTS, file, guira_expiring_create_shared(file, &made, 0, &f));
    // The other kind.
    REFUSED(GUIRA_STATUS_SNAPSHOT, "expires", guira_filter_open_shared(file, &plain));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "expires", guira_reader_open_shared(file, &plain_reader));
    OK(guira_filter_create_shared(fresh(), &plain_options, 0, &plain));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "does not expire", guira_expiring_open_shared(path, &f));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "does not expire", guira_expiring_reader_open_shared(path, &r));
    guira_filter_free(plain);
    made.max_capacity = 9000;
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "grows", guira_expiring_create_shared(fresh(), &made, 0, &f));
    REFUSED(GUIRA_STATUS_UNSUPPORTED, "grows", guira_expiring_create_memfd(&made, 0, &f));
    made = options(0);
    INVALID("TTL", guira_expiring_create_shared(path, &made, 0, &f));
    INVALID("path is null", guira_expiring_open_shared(NULL, &f));
    INVALID("filter is null", guira_expiring_create_shared(path, &made, 0, NULL));
    INVALID("filter is null", guira_expiring_attach(NULL));
    INVALID("reader is null", guira_expiring_reader_open_shared(path, NULL));
    CHECK(!guira_expiring_is_shared(NULL) && f == NULL && r == NULL);
    damage(fresh(), 0, "x", 1);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "not a shared filter", guira_expiring_open_shared(path, &f));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "not a shared filter", guira_expiring_reader_open_shared(path, &r));
}

// A reader sees what others add and let expire, takes no place, and needs no permission to write. It begins
// no epoch, so without a writer an item is found for longer.
static void readers_go_by_the_epochs_of_others(void) {
    const uint64_t ttl = 20 * (uint64_t)MS;
    const char *file = fresh();
    guira_expiring_reader *r = (guira_expiring_reader *)1;
    REFUSED(GUIRA_STATUS_MISSING, "No such file", guira_expiring_reader_open_shared(file, &r));
    CHECK(r == NULL);
    guira_expiring *f = create(file, ttl);
    CHECK(chmod(file, 0444) == 0);
    r = open_reader(file);
    enum { MANY = 600 };
    uint64_t hashes[MANY + 1];
    bool results[MANY + 1];
    for (uint64_t i = 0; i < MANY; i++) {
        hashes[i] = guira_expiring_reader_hash_bytes(r, &i, sizeof i);
        CHECK(hashes[i] == guira_expiring_hash_bytes(f, &i, sizeof i));
        OK(guira_expiring_add(f, &i, sizeof i));
        CHECK(guira_expiring_reader_contains(r, &i, sizeof i) && guira_expiring_reader_contains_hash(r, hashes[i]));
        CHECK(guira_expiring_reader_count(r, &i, sizeof i) == guira_expiring_count(f, &i, sizeof i));
    }
    hashes[MANY] = guira_expiring_reader_hash_bytes(r, "koel", 4);
    guira_items items = guira_hashes(hashes, MANY + 1);
    OK(guira_expiring_reader_contains_many(r, &items, results));
    for (size_t i = 0; i <= MANY; i++) CHECK(results[i] == (i < MANY));
    CHECK(guira_expiring_reader_len(r) == MANY && guira_expiring_reader_capacity(r) == guira_expiring_capacity(f));
    CHECK(guira_expiring_reader_epoch_length_ns(r) == ttl / 2 && guira_expiring_reader_epoch(r) == 0);
    // Nobody is there to begin an epoch.
    CHECK(chmod(file, 0600) == 0);
    guira_expiring_free(f);
    usleep((useconds_t)(3 * ttl / 1000));
    CHECK(guira_expiring_reader_epoch(r) == 0 && guira_expiring_reader_contains_hash(r, hashes[0]));
    CHECK(guira_expiring_reader_epoch_age_ns(r) >= 3 * ttl);
    f = open_shared(file);
    for (uint64_t epoch = 1; epoch <= 3; epoch++) {
        CHECK(guira_expiring_reader_contains_hash(r, hashes[0]));
        tick(f);
        CHECK(guira_expiring_reader_epoch(r) == epoch);
    }
    OK(guira_expiring_reader_contains_many(r, &items, results));
    for (size_t i = 0; i <= MANY; i++) CHECK(!results[i]);
    CHECK(guira_expiring_reader_len(r) == 0);
    INVALID("items is null", guira_expiring_reader_contains_many(r, NULL, results));
    INVALID("reader is null", guira_expiring_reader_contains_many(NULL, &items, results));
    guira_expiring_reader_free(r);
    guira_expiring_reader_free(NULL);
    guira_expiring_free(f);
}

static void add_by_descriptor(void *argument) {
    guira_expiring *f = NULL;
    OK(guira_expiring_from_memfd(*(int *)argument, &f));
    OK(guira_expiring_add(f, "koel", 4));
    advance(f);
    guira_expiring_free(f);
}

static void a_filter_without_a_file_goes_by_its_descriptor(void) {
    guira_expiring_options made = options(HOUR);
    guira_expiring *f = NULL, *other = NULL;
    guira_expiring_reader *r = NULL;
    OK(guira_expiring_create_memfd(&made, 2, &f));
    int descriptor = dup(guira_expiring_memfd(f));
    CHECK(descriptor >= 0);
    ended(start(add_by_descriptor, &descriptor));
    CHECK(guira_expiring_contains(f, "koel", 4) && guira_expiring_epoch(f) == 1);
    OK(guira_expiring_reader_from_memfd(descriptor, &r));
    CHECK(guira_expiring_reader_contains(r, "koel", 4) && close(descriptor) == 0);
    guira_expiring_reader_free(r);
    REFUSED(GUIRA_STATUS_MISSING, "descriptor", guira_expiring_from_memfd(descriptor, &other));
    REFUSED(GUIRA_STATUS_MISSING, "descriptor", guira_expiring_reader_from_memfd(descriptor, &r));
    CHECK(other == NULL && r == NULL);
    guira_expiring_free(f);
}

static void a_snapshot_becomes_a_shared_filter(void) {
    guira_expiring_options made = options(HOUR);
    guira_expiring *saved = NULL, *restored = NULL, *f = NULL, *g = NULL, *unnamed = NULL;
    guira_bytes bytes = {0};
    OK(guira_expiring_new(&made, &saved));
    OK(guira_expiring_add(saved, "ani", 3));
    OK(guira_expiring_to_bytes(saved, &bytes));
    OK(guira_expiring_from_bytes(bytes.data, bytes.len, 0, 0, &restored));
    guira_bytes_free(&bytes);
    const char *place = fresh();
    OK(guira_expiring_copy_to_shared(restored, place, 9, &f));
    OK(guira_expiring_open_shared(place, &g));
    CHECK(guira_expiring_contains(g, "ani", 3) && guira_expiring_len(f) == 1 && guira_expiring_is_shared(f));
    OK(guira_expiring_copy_to_memfd(g, 0, &unnamed));
    CHECK(guira_expiring_contains(unnamed, "ani", 3) && guira_expiring_memfd(unnamed) >= 0);
    OK(guira_expiring_add(restored, "koel", 4));
    OK(guira_expiring_union_with(f, restored));
    OK(guira_expiring_merge(unnamed, f));
    CHECK(guira_expiring_len(g) == 2 && guira_expiring_count(unnamed, "ani", 3) == 2);
    INVALID("itself", guira_expiring_merge(f, g));
    INVALID("itself", guira_expiring_union_with(f, g));
    guira_expiring_free(unnamed);
    REFUSED(GUIRA_STATUS_EXISTS, place, guira_expiring_copy_to_shared(saved, place, 0, &unnamed));
    REFUSED(GUIRA_STATUS_INVALID, "256 processes", guira_expiring_copy_to_memfd(saved, 256, &unnamed));
    INVALID("filter is null", guira_expiring_copy_to_memfd(NULL, 0, &unnamed));
    INVALID("path is null", guira_expiring_copy_to_shared(saved, NULL, 0, &unnamed));
    INVALID("copy is null", guira_expiring_copy_to_shared(saved, place, 0, NULL));
    CHECK(unnamed == NULL);
    guira_expiring_free(saved);
    guira_expiring_free(restored);
    guira_expiring_free(g);
    guira_expiring_free(f);
}

int main(void) {
#if defined(__linux__) && UINTPTR_MAX == UINT64_MAX
    CHECK(mkdtemp(directory) != NULL);
    every_call_takes_a_shared_handle();
    of_racing_processes_exactly_one_wins();
    killed_processes_lose_nothing_and_keep_nothing();
    places_are_limited();
    other_files_are_refused();
    readers_go_by_the_epochs_of_others();
    a_filter_without_a_file_goes_by_its_descriptor();
    a_snapshot_becomes_a_shared_filter();
    remove_all_files();
#else
    guira_expiring *f = NULL;
    guira_expiring_reader *r = NULL;
    guira_expiring_options made = options(HOUR);
    const guira_status unsupported = GUIRA_STATUS_UNSUPPORTED;
    REFUSED(unsupported, "Linux", guira_expiring_create_shared(fresh(), &made, 0, &f));
    REFUSED(unsupported, "Linux", guira_expiring_open_shared(path, &f));
    REFUSED(unsupported, "Linux", guira_expiring_open_or_create_shared(path, &made, 0, &f, NULL));
    REFUSED(unsupported, "Linux", guira_expiring_create_memfd(&made, 0, &f));
    REFUSED(unsupported, "Linux", guira_expiring_from_memfd(0, &f));
    REFUSED(unsupported, "Linux", guira_expiring_reader_open_shared(path, &r));
    REFUSED(unsupported, "Linux", guira_expiring_reader_from_memfd(0, &r));
    CHECK(f == NULL && r == NULL);
#endif
    puts("shared_expiring.c: passed");
    return 0;
}
