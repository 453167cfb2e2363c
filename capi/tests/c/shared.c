// Filters that processes share, with a TTL and without: killed processes, exactly one winner, and files that
// cannot be used; epochs that any process begins. Where filters cannot be shared, that the status says so.
#include "processes.h"
#include <stdatomic.h>

// The TTL of the filters of a run of tests.
static uint64_t ttl;

static guira_options options(uint64_t capacity) {
    guira_options made = options_of(capacity, ttl);
    if (ttl) made.epochs = 2;
    return made;
}

static guira_filter *create(const char *file, uint64_t capacity) {
    guira_options made = options(capacity);
    guira_filter *filter = NULL;
    OK(guira_filter_create_shared(file, &made, 0, &filter));
    return filter;
}

static guira_filter *open_shared(const char *file) {
    guira_filter *filter = NULL;
    OK(guira_filter_open_shared(file, &filter));
    return filter;
}

static guira_filter *open_reader(const char *file) {
    guira_filter *filter = NULL;
    OK(guira_filter_open_reader(file, &filter));
    return filter;
}

static void advance(guira_filter *filter) {
    bool began = false;
    OK(guira_filter_advance(filter, &began));
    CHECK(began);
}

static int nothing(void *context, const uint8_t *data, size_t len) {
    (void)data;
    *(size_t *)context += len;
    return 0;
}

static int stopping(void *context, const uint8_t *data, size_t len) {
    (void)context, (void)data, (void)len;
    return 9;
}

static uint64_t read_clock(void *context) {
    (void)context;
    return 0;
}

// All handles of a filter with a TTL go by one clock, and no other.
static void calls_about_time_take_a_shared_handle(guira_filter *f, guira_filter *other) {
    bool yes = false, results[2];
    size_t done = 0, written = 0;
    guira_bytes bytes = {NULL, 0, 0};
    OK(guira_filter_add(f, "ani", 3));
    OK(guira_filter_refresh(other, "ani", 3, &yes));
    CHECK(yes);
    OK(guira_filter_add_or_refresh(other, "koel", 4, &yes));
    CHECK(yes && guira_filter_remove(f, "koel", 4) && !guira_filter_remove(other, "koel", 4));
    uint64_t hash = guira_filter_hash_bytes(f, "ani", 3), hashes[2] = {hash, guira_filter_hash_u64(f, 5)};
    OK(guira_filter_refresh_hash(other, hash, &yes));
    CHECK(yes);
    OK(guira_filter_add_or_refresh_hash(f, hash, &yes));
    CHECK(!yes && guira_filter_count_hash(f, hash) == 1);
    guira_items items = guira_hashes(hashes, 2);
    OK(guira_filter_refresh_many(other, &items, results, &done));
    CHECK(done == 2 && results[0] && !results[1]);
    OK(guira_filter_add_or_refresh_many(other, &items, results, &done));
    CHECK(done == 2 && !results[0] && results[1]);

    OK(guira_filter_write_at(other, nothing, &written, NULL, NULL));
    OK(guira_filter_to_bytes_at(other, &bytes, NULL, NULL));
    CHECK(bytes.len == written);
    guira_bytes_free(&bytes);
    CHECK(guira_filter_ttl_ns(f) == ttl && guira_filter_epoch_length_ns(other) == ttl / 2);
    CHECK(guira_filter_epoch(f) == 0 && guira_filter_epoch_age_ns(other) < ttl / 2);
    OK(guira_filter_tick(other, NULL, NULL, &yes));
    CHECK(!yes);
    const char *clock = "clock of all its processes";
    UNSUPPORTED(clock, guira_filter_tick(f, read_clock, NULL, &yes));
    UNSUPPORTED(clock, guira_filter_write_at(f, nothing, &written, read_clock, NULL));
    UNSUPPORTED(clock, guira_filter_to_bytes_at(f, &bytes, read_clock, NULL));
    for (int epoch = 1; epoch <= 3; epoch++) {
        CHECK(guira_filter_contains_hash(other, hash));
        advance(epoch % 2 ? f : other);
        // It is unknown when this epoch began.
        CHECK(guira_filter_epoch(other) == (uint64_t)epoch && guira_filter_epoch_age_ns(f) == UINT64_MAX);
    }
    CHECK(!guira_filter_contains_hash(f, hash) && guira_filter_len(other) == 0);
}

// Each call, on one handle; what it wrote is seen through another.
static void every_call_takes_a_shared_handle(void) {
    const char *file = fresh();
    guira_filter *f = create(file, 4000), *other = open_shared(file), *copy = NULL, *heap = made_of(options(4000));
    CHECK(guira_filter_is_shared(f) && guira_filter_is_shared(other) && !guira_filter_is_shared(heap));
    bool added = false;
    OK(guira_filter_add(f, "ani", 3));
    CHECK(guira_filter_contains(other, "ani", 3) && !guira_filter_contains(other, "koel", 4));
    OK(guira_filter_add_unique(other, "ani", 3, &added));
    CHECK(!added && guira_filter_count(f, "ani", 3) == 1 && guira_filter_len(other) == 1);
    CHECK(guira_filter_remove(other, "ani", 3) && !guira_filter_remove(f, "ani", 3));

    // By hash: the same item.
    uint64_t hash = guira_filter_hash_bytes(f, "ani", 3), number = 0;
    CHECK(hash == guira_filter_hash_bytes(heap, "ani", 3) && guira_filter_seed(f) == 7);
    CHECK(guira_filter_hash_u64(f, 5) == guira_filter_hash_u64(heap, 5));
    CHECK(guira_filter_hash_i64(f, -5) == guira_filter_hash_i64(heap, -5));
    OK(guira_filter_hash_str(f, "ani", 3, &number));
    CHECK(number != hash);
    OK(guira_filter_add_unique_hash(f, hash, &added));
    CHECK(added && guira_filter_contains(other, "ani", 3) && guira_filter_contains_hash(other, hash));
    OK(guira_filter_add_hash(other, hash));
    CHECK(guira_filter_count_hash(f, hash) == 2 && guira_filter_remove_hash(f, hash));
    size_t count = 0;
    OK(guira_filter_add_and_count(other, "ani", 3, &count));
    CHECK(count == 2);
    OK(guira_filter_add_and_count_hash(f, hash, &count));
    CHECK(count == 3 && guira_filter_remove_hash(f, hash) && guira_filter_remove_hash(other, hash));

    // Batches longer than the parts in which they are done.
    enum { MANY = 1300 };
    uint32_t rows[MANY];
    uint64_t hashes[MANY], offsets[MANY + 1] = {0};
    bool results[MANY];
    size_t done = 0, failed = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        rows[i] = i;
        hashes[i] = guira_filter_hash_bytes(f, &rows[i], 4);
        offsets[i + 1] = 4 * (i + 1);
    }
    guira_items by_hash = guira_hashes(hashes, MANY), by_row = guira_rows(rows, 4, MANY);
    guira_items packed = guira_packed(rows, sizeof rows, offsets, MANY);
    OK(guira_filter_add_many(f, &by_row, &done));
    CHECK(done == MANY);
    OK(guira_filter_add_unique_many(other, &by_hash, results, &done));
    for (int i = 0; i < MANY; i++) failed += results[i];
    // A few look like others that were there before.
    CHECK(done == MANY && failed == 0);
    OK(guira_filter_contains_many(other, &packed, results));
    for (int i = 0; i < MANY; i++) CHECK(results[i]);
    CHECK(guira_filter_len(f) == MANY + 1);

    // Snapshots and copies are of the heap, and equal.
    guira_bytes bytes = {NULL, 0, 0};
    size_t written = 0;
    uint64_t digest[2], copied[2];
    OK(guira_filter_to_bytes(f, &bytes));
    OK(guira_filter_write(other, nothing, &written));
    CHECK(bytes.len == written && bytes.len > 4000);
    REFUSED(GUIRA_STATUS_STOPPED, "returned 9", guira_filter_write(f, stopping, NULL));
    guira_filter *read = NULL;
    OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &read));
    guira_bytes_free(&bytes);
    OK(guira_filter_copy(f, &copy));
    CHECK(!guira_filter_is_shared(copy) && guira_filter_len(copy) == MANY + 1);
    CHECK(guira_filter_seed(read) == 7 && guira_filter_contains(read, &rows[MANY - 1], 4));
    OK(guira_filter_digest(other, digest));
    OK(guira_filter_digest(read, copied));
    CHECK(memcmp(digest, copied, sizeof digest) == 0);

    // Merges go both ways.
    OK(guira_filter_union_with(f, copy));
    CHECK(guira_filter_len(f) == MANY + 1);
    OK(guira_filter_clear(f));
    OK(guira_filter_merge(f, copy));
    CHECK(guira_filter_len(other) == MANY + 1);
    OK(guira_filter_merge(heap, f));
    CHECK(guira_filter_len(heap) == MANY + 1);
    OK(guira_filter_union_with(heap, other));
    CHECK(guira_filter_len(heap) == MANY + 1);
    OK(guira_filter_finish_growth(f));

    CHECK(guira_filter_capacity(f) == guira_filter_capacity(copy));
    CHECK(guira_filter_max_capacity(f) == guira_filter_capacity(f));
    CHECK(guira_filter_memory_usage(f) > 4000 && guira_filter_load_factor(f) > 0.1);
    CHECK(guira_filter_false_positive_rate(f) > 0 && guira_filter_false_positive_rate(f) < 0.01);
    CHECK(guira_filter_snapshot_len(f) == written);

    OK(guira_filter_remove_many(f, &by_hash, results));
    for (int i = 0; i < MANY; i++) CHECK(results[i]);
    CHECK(guira_filter_len(other) == 1);
    OK(guira_filter_clear(other));
    CHECK(guira_filter_len(f) == 0 && !guira_filter_contains_hash(f, hash));
    if (ttl) {
        calls_about_time_take_a_shared_handle(f, other);
    } else {
        UNSUPPORTED("no TTL", guira_filter_refresh(f, "ani", 3, &added));
        UNSUPPORTED("no TTL", guira_filter_tick(f, NULL, NULL, &added));
    }

    // What is for shared filters only.
    UNSUPPORTED("not shared", guira_filter_attach(heap));
    UNSUPPORTED("not shared", guira_filter_repair(heap, NULL));
    UNSUPPORTED("not shared", guira_filter_recount(heap, NULL));
    UNSUPPORTED("not shared", guira_filter_participants(heap, NULL, NULL, NULL));
    UNSUPPORTED("not shared", guira_filter_was_closed_cleanly(heap, &added));
    guira_filter_free(f);
    guira_filter_free(other);
    guira_filter_free(copy);
    guira_filter_free(read);
    guira_filter_free(heap);
    // The file stays, and its items.
    f = open_shared(file);
    CHECK(guira_filter_len(f) == 0);
    guira_filter_free(f);
}

// A filter that is full says so, in a batch too.
static void a_full_filter_refuses_items(void) {
    guira_filter *f = create(fresh(), 100);
    uint64_t hashes[2000];
    for (uint64_t i = 0; i < 2000; i++) hashes[i] = guira_filter_hash_u64(f, i);
    guira_items items = guira_hashes(hashes, 2000);
    size_t done = 0;
    CHECK(guira_filter_add_many(f, &items, &done) == GUIRA_STATUS_FULL);
    CHECK(done >= 100 && done < 2000 && guira_filter_len(f) == done);
    CHECK(guira_filter_add_hash(f, hashes[done]) == GUIRA_STATUS_FULL);
    bool added[2000];
    items = guira_hashes(hashes + done, 2000 - done);
    guira_status status = guira_filter_add_unique_many(f, &items, added, &done);
    CHECK(status == GUIRA_STATUS_OK || status == GUIRA_STATUS_FULL);
    guira_filter_free(f);
}

enum { PROCESSES = 4, RACED = 20000 };

typedef struct {
    const char *file;
    atomic_uint *winners;
    guira_filter *inherited;
} race;

static void race_for_all(void *argument) {
    race *self = argument;
    guira_filter *f = self->inherited ? self->inherited : open_shared(self->file);
    for (uint64_t i = 0; i < RACED; i++) {
        bool added = false;
        guira_status status;
        do {
            status = guira_filter_add_unique(f, &i, sizeof i, &added);
        } while (status == GUIRA_STATUS_BUSY);
        CHECK(status == GUIRA_STATUS_OK);
        if (added) atomic_fetch_add(&self->winners[i], 1);
        CHECK(guira_filter_contains(f, &i, sizeof i));
    }
    // The child's handle: that of the parent stays.
    guira_filter_free(f);
}

// Half of the processes open the file, and half use the handle of their parent.
static void of_racing_processes_exactly_one_wins(void) {
    const char *file = fresh();
    guira_filter *f = create(file, 2 * RACED);
    atomic_uint *winners = shared_memory(RACED * sizeof *winners);
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        race self = {file, winners, i % 2 ? f : NULL};
        pids[i] = start(race_for_all, &self);
    }
    for (int i = 0; i < PROCESSES; i++) ended(pids[i]);
    size_t won = 0, alike = 0;
    for (uint64_t i = 0; i < RACED; i++) {
        CHECK(winners[i] <= 1);
        won += winners[i];
        alike += winners[i] == 0;
    }
    // An item without a winner looks like one that was there: at the false-positive rate.
    CHECK(won + alike == RACED && alike < RACED / 100);
    size_t repaired = 1, len = 0;
    OK(guira_filter_repair(f, &repaired));
    CHECK(repaired == 0);
    OK(guira_filter_recount(f, &len));
    CHECK(len == won && guira_filter_len(f) == won);
    munmap(winners, RACED * sizeof *winners);
    guira_filter_free(f);
}

enum { DEATHS = 20, QUOTA = 1900 };

typedef struct {
    const char *file;
    atomic_ullong *acknowledged;
    uint64_t first;
} killed;

// Adds its quota, and then an item that it removes again.
static void insert_until_killed(void *argument) {
    killed *self = argument;
    guira_filter *f = open_shared(self->file);
    for (uint64_t next = self->first;; next++) {
        guira_status status;
        do {
            status = guira_filter_add(f, &next, sizeof next);
        } while (status == GUIRA_STATUS_BUSY);
        if (next < self->first + QUOTA) {
            CHECK(status == GUIRA_STATUS_OK);
            atomic_store(self->acknowledged, next + 1);
        } else if (status == GUIRA_STATUS_OK) {
            CHECK(guira_filter_remove(f, &next, sizeof next));
        }
    }
}

// Children are killed while they insert into a filter that becomes nearly full, so that some die within
// a relocation.
static void what_killed_processes_have_inserted_stays(void) {
    const char *file = fresh();
    guira_filter *f = create(file, DEATHS * QUOTA);
    atomic_ullong *acknowledged = shared_memory(sizeof *acknowledged);
    uint64_t kept[DEATHS][2];
    srand(7);
    for (uint64_t i = 0; i < DEATHS; i++) {
        killed self = {file, acknowledged, i << 32};
        // Every second child has its quota.
        uint64_t until = self.first + (i % 2 ? QUOTA : 1 + (uint64_t)rand() % QUOTA);
        int status = 0;
        atomic_store(acknowledged, self.first);
        pid_t pid = start(insert_until_killed, &self);
        while (atomic_load(acknowledged) < until) {
            CHECK(waitpid(pid, &status, WNOHANG) == 0);
            usleep(100);
        }
        usleep((useconds_t)rand() % 1000);
        CHECK(kill(pid, SIGKILL) == 0);
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        kept[i][0] = self.first;
        kept[i][1] = atomic_load(acknowledged);
        size_t repaired = 0;
        OK(guira_filter_repair(f, &repaired));
        CHECK(repaired <= 1);
    }
    size_t in_use = 9, max = 0, len = 0, items = 0;
    uint64_t deaths = 0;
    OK(guira_filter_participants(f, &in_use, &max, &deaths));
    CHECK(in_use <= 1 && max == 63 && deaths <= DEATHS);
    for (int i = 0; i < DEATHS; i++) {
        for (uint64_t item = kept[i][0]; item < kept[i][1]; item++) {
            CHECK(guira_filter_contains(f, &item, sizeof item));
            items++;
        }
    }
    OK(guira_filter_recount(f, &len));
    // The last call of each may have taken effect.
    CHECK(items > DEATHS * QUOTA / 2 && len >= items && len <= items + DEATHS);
    munmap(acknowledged, sizeof *acknowledged);
    guira_filter_free(f);
}

// Adds and refreshes items, and begins an epoch after each tenth, until it is killed.
static void use_until_killed(void *argument) {
    killed *self = argument;
    guira_filter *f = open_shared(self->file);
    for (uint64_t next = self->first;; next++) {
        bool yes;
        guira_status status = guira_filter_add(f, &next, sizeof next);
        if (status == GUIRA_STATUS_OK) atomic_store(self->acknowledged, next + 1);
        (void)guira_filter_refresh(f, &next, sizeof next, &yes);
        if (next % 10 == 9) advance(f);
    }
}

// What a killed process has added is there for a TTL, and then gone, as a reader sees it, too.
static void killed_processes_lose_nothing_and_keep_nothing(void) {
    const char *file = fresh();
    guira_filter *f = create(file, 4000);
    guira_filter *r = open_reader(file);
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
        OK(guira_filter_repair(f, &repaired));
        CHECK(repaired <= 1);
        // At most one epoch has begun since.
        uint64_t last = atomic_load(acknowledged) - 1;
        CHECK(guira_filter_contains(f, &last, sizeof last) && guira_filter_contains(r, &last, sizeof last));
        for (int epoch = 0; epoch < 3; epoch++) advance(f);
        for (uint64_t item = self.first; item <= last; item++) {
            // A few look like others.
            CHECK(guira_filter_contains(f, &item, sizeof item) == guira_filter_contains(r, &item, sizeof item));
        }
        CHECK(guira_filter_len(r) == guira_filter_len(f));
    }
    size_t len = 9, in_use = 9, max = 0;
    uint64_t deaths = 0;
    bool clean = true;
    OK(guira_filter_participants(f, &in_use, &max, &deaths));
    CHECK(in_use == 1 && max == 63 && deaths <= 8);
    guira_filter *late = open_shared(file);
    OK(guira_filter_was_closed_cleanly(late, &clean));
    CHECK(clean == (deaths == 0));
    guira_filter_free(late);
    OK(guira_filter_recount(f, &len));
    CHECK(len == 0);
    munmap(acknowledged, sizeof *acknowledged);
    guira_filter_free(r);
    guira_filter_free(f);
}

typedef struct {
    const char *file;
    guira_filter *filter;
} occupied;

static void find_no_place(void *argument) {
    const occupied *self = argument;
    bool added = true;
    guira_bytes bytes;
    guira_filter *f = NULL;
    REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_attach(self->filter));
    REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_add_unique(self->filter, "a", 1, &added));
    REFUSED(GUIRA_STATUS_OCCUPIED, "another process", guira_filter_recount(self->filter, NULL));
    REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_to_bytes(self->filter, &bytes));
    REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_open_shared(self->file, &f));
    REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_clear(self->filter));
    if (ttl) {
        REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_tick(self->filter, NULL, NULL, &added));
        REFUSED(GUIRA_STATUS_OCCUPIED, "1 processes", guira_filter_advance(self->filter, &added));
    }
    CHECK(f == NULL);
    // What needs no place.
    OK(guira_filter_add(self->filter, "a", 1));
    CHECK(guira_filter_contains(self->filter, "a", 1) && guira_filter_remove(self->filter, "a", 1));
}

// The process that opens the file takes a place.
static void places_are_limited(void) {
    guira_options made = options(1000);
    occupied self = {fresh(), NULL};
    OK(guira_filter_create_shared(self.file, &made, 1, &self.filter));
    ended(start(find_no_place, &self));
    OK(guira_filter_recount(self.filter, NULL));
    guira_filter_free(self.filter);
}

static void other_files_are_refused(void) {
    guira_filter *f = NULL;
    guira_options made = options(1000);
    bool created = true;
    const char *file = fresh();
    // Missing, and created twice.
    REFUSED(GUIRA_STATUS_MISSING, "No such file", guira_filter_open_shared(file, &f));
    REFUSED(GUIRA_STATUS_MISSING, "No such file", guira_filter_create_shared("/nowhere/at/all", &made, 0, &f));
    REFUSED(GUIRA_STATUS_MISSING, "No such file",
            guira_filter_open_or_create_shared("/nowhere/at/all", &made, 0, &f, &created));
    CHECK(f == NULL && !created);
    OK(guira_filter_open_or_create_shared(file, &made, 0, &f, &created));
    CHECK(created);
    guira_filter_free(f);
    OK(guira_filter_open_or_create_shared(file, NULL, 0, &f, &created));
    CHECK(!created && guira_filter_seed(f) == 7);
    guira_filter_free(f);
    // Options of the other kind: a file keeps its own.
    guira_options other = options_of(1000, ttl ? STAYS : HOUR);
    OK(guira_filter_open_or_create_shared(file, &other, 0, &f, &created));
    CHECK(!created && guira_filter_ttl_ns(f) == ttl);
    guira_filter_free(f);
    REFUSED(GUIRA_STATUS_EXISTS, file, guira_filter_create_shared(file, &made, 0, &f));
    struct stat of_file;
    CHECK(stat(file, &of_file) == 0 && (of_file.st_mode & 0777) == 0600);

    // No permission, unless root has it.
    CHECK(chmod(file, 0) == 0);
    if (geteuid() != 0) REFUSED(GUIRA_STATUS_FILE, "denied", guira_filter_open_shared(file, &f));
    CHECK(chmod(file, 0600) == 0);
    REFUSED(GUIRA_STATUS_FILE, "directory", guira_filter_open_shared(directory, &f));

    // Options that cannot be met.
    REFUSED(GUIRA_STATUS_INVALID, "256 processes", guira_filter_create_shared(fresh(), &made, 256, &f));
    made.max_capacity = 9000;
    if (ttl) {
        UNSUPPORTED("grows", guira_filter_create_shared(path, &made, 0, &f));
        UNSUPPORTED("grows", guira_filter_create_memfd(&made, 0, &f));
    } else {
        OK(guira_filter_create_shared(path, &made, 0, &f));
        CHECK(guira_filter_max_capacity(f) == 9000);
        guira_filter_free(f);
        CHECK(unlink(path) == 0);
    }
    made = options(1000);
    made.counter_bits = 8;
    UNSUPPORTED("counters", guira_filter_create_shared(path, &made, 0, &f));
    UNSUPPORTED("counters", guira_filter_create_memfd(&made, 0, &f));
    made = options(1000);
    made.prefer = 5;
    INVALID("prefer is 5", guira_filter_create_shared(path, &made, 0, &f));
    made = options(1000);
    made.ttl_ns = 1;
    INVALID("TTL", guira_filter_create_shared(path, &made, 0, &f));
    INVALID("path is null", guira_filter_create_shared(NULL, &made, 0, &f));
    INVALID("options is null", guira_filter_create_shared(path, NULL, 0, &f));
    INVALID("filter is null", guira_filter_create_shared(path, &made, 0, NULL));
    INVALID("path is null", guira_filter_open_shared(NULL, &f));
    INVALID("filter is null", guira_filter_open_shared(path, NULL));
    INVALID("filter is null", guira_filter_open_or_create_shared(path, &made, 0, NULL, NULL));
    INVALID("path is null", guira_filter_open_or_create_shared(NULL, &made, 0, &f, NULL));
    INVALID("filter is null", guira_filter_attach(NULL));
    INVALID("filter is null", guira_filter_open_reader(path, NULL));
    INVALID("path is null", guira_filter_open_reader(NULL, &f));
    INVALID("filter is null", guira_filter_repair(NULL, NULL));
    INVALID("filter is null", guira_filter_recount(NULL, NULL));
    INVALID("filter is null", guira_filter_participants(NULL, NULL, NULL, NULL));
    CHECK(!guira_filter_is_shared(NULL) && f == NULL);

    // Each byte of the first page changed, other contents, and other lengths.
    uint8_t byte = 0, junk[8192];
    memset(junk, 0x5a, sizeof junk);
    for (off_t at = 0; at < 128; at++) {
        int fd = open(file, O_RDONLY);
        CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1 && close(fd) == 0);
        uint8_t changed = (uint8_t)(byte ^ 0x10);
        damage(file, at, &changed, 1);
        f = NULL;
        guira_status status = guira_filter_open_shared(file, &f);
        CHECK(status == GUIRA_STATUS_OK || status == GUIRA_STATUS_SNAPSHOT || status == GUIRA_STATUS_INVALID);
        CHECK((status == GUIRA_STATUS_OK) == (f != NULL));
        guira_filter_free(f);
        damage(file, at, &byte, 1);
    }
    damage(fresh(), 0, junk, sizeof junk);
    REFUSED(GUIRA_STATUS_SNAPSHOT, path, guira_filter_open_shared(path, &f));
    REFUSED(GUIRA_STATUS_SNAPSHOT, path, guira_filter_open_or_create_shared(path, &made, 0, &f, NULL));
    damage(fresh(), 0, junk, 1);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "not a shared filter", guira_filter_open_shared(path, &f));
    CHECK(truncate(file, of_file.st_size - 4096) == 0);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "bytes", guira_filter_open_shared(file, &f));
    CHECK(f == NULL);
}

// Any contents behind the first page: calls end, and nothing crashes.
static void hostile_contents_are_survived(void) {
    const char *file = fresh();
    guira_filter_free(create(file, 2000));
    struct stat of_file;
    CHECK(stat(file, &of_file) == 0);
    srand(7);
    for (int round = 0; round < 5; round++) {
        uint8_t junk[4096];
        for (off_t at = 4096; at < of_file.st_size; at += (off_t)sizeof junk) {
            for (size_t i = 0; i < sizeof junk; i++) junk[i] = (uint8_t)(rand() >> 7);
            size_t rest = (size_t)(of_file.st_size - at);
            damage(file, at, junk, rest < sizeof junk ? rest : sizeof junk);
        }
        guira_filter *f = NULL;
        guira_status status = guira_filter_open_shared(file, &f);
        if (status != GUIRA_STATUS_OK) {
            CHECK(status == GUIRA_STATUS_SNAPSHOT && f == NULL);
            continue;
        }
        OK(guira_filter_repair(f, NULL));
        for (uint64_t i = 0; i < 3000; i++) {
            bool added;
            status = i % 2 ? guira_filter_add(f, &i, sizeof i) : guira_filter_add_unique(f, &i, sizeof i, &added);
            CHECK(status != GUIRA_STATUS_INTERNAL);
            (void)guira_filter_contains(f, &i, sizeof i);
            (void)guira_filter_remove(f, &i, sizeof i);
        }
        guira_filter_free(f);
    }
}

// The name is given to another filter: the handle keeps its own.
static void a_file_that_is_replaced_stays_usable(void) {
    const char *file = fresh();
    guira_filter *f = create(file, 1000), *other;
    guira_filter *copy;
    OK(guira_filter_add(f, "ani", 3));
    CHECK(unlink(file) == 0);
    other = create(file, 1000);
    OK(guira_filter_attach(f));
    OK(guira_filter_copy(f, &copy));
    CHECK(guira_filter_contains(f, "ani", 3) && guira_filter_contains(copy, "ani", 3));
    CHECK(!guira_filter_contains(other, "ani", 3));
    guira_filter_free(copy);
    guira_filter_free(f);
    guira_filter_free(other);
}

// What a handle does not do that only looks items up: nothing changes.
static void readers_change_nothing(guira_filter *r) {
    const char *why = "only looks items up";
    bool yes = true;
    size_t done = 9, len = guira_filter_len(r);
    uint64_t hash = guira_filter_hash_bytes(r, "koel", 4), digest[2];
    guira_items items = guira_hashes(&hash, 1);
    guira_bytes bytes = {NULL, 1, 1};
    guira_filter *copy = r, *heap = made_of(options(1000));
    UNSUPPORTED(why, guira_filter_add(r, "koel", 4));
    UNSUPPORTED(why, guira_filter_add_unique(r, "koel", 4, &yes));
    UNSUPPORTED(why, guira_filter_add_hash(r, hash));
    UNSUPPORTED(why, guira_filter_add_unique_hash(r, hash, &yes));
    UNSUPPORTED(why, guira_filter_add_and_count(r, "koel", 4, &done));
    UNSUPPORTED(why, guira_filter_add_and_count_hash(r, hash, &done));
    UNSUPPORTED(why, guira_filter_add_many(r, &items, &done));
    UNSUPPORTED(why, guira_filter_add_unique_many(r, &items, &yes, &done));
    UNSUPPORTED(why, guira_filter_remove_many(r, &items, &yes));
    CHECK(!guira_filter_remove(r, "koel", 4) && !guira_filter_remove_hash(r, hash) && done == 0);
    UNSUPPORTED(why, guira_filter_clear(r));
    UNSUPPORTED(why, guira_filter_finish_growth(r));
    UNSUPPORTED(why, guira_filter_digest(r, digest));
    UNSUPPORTED(why, guira_filter_write(r, nothing, &done));
    UNSUPPORTED(why, guira_filter_to_bytes(r, &bytes));
    UNSUPPORTED(why, guira_filter_copy(r, &copy));
    UNSUPPORTED(why, guira_filter_copy_to_memfd(r, 0, &copy));
    UNSUPPORTED(why, guira_filter_merge(heap, r));
    UNSUPPORTED(why, guira_filter_merge(r, heap));
    UNSUPPORTED(why, guira_filter_union_with(r, heap));
    UNSUPPORTED(why, guira_filter_attach(r));
    UNSUPPORTED(why, guira_filter_repair(r, NULL));
    UNSUPPORTED(why, guira_filter_recount(r, NULL));
    UNSUPPORTED(why, guira_filter_participants(r, NULL, NULL, NULL));
    UNSUPPORTED(why, guira_filter_was_closed_cleanly(r, &yes));
    if (ttl) {
        UNSUPPORTED(why, guira_filter_refresh(r, "koel", 4, &yes));
        UNSUPPORTED(why, guira_filter_add_or_refresh_hash(r, hash, &yes));
        UNSUPPORTED(why, guira_filter_add_or_refresh_many(r, &items, &yes, &done));
        UNSUPPORTED(why, guira_filter_tick(r, NULL, NULL, &yes));
        UNSUPPORTED(why, guira_filter_advance(r, &yes));
        UNSUPPORTED(why, guira_filter_to_bytes_at(r, &bytes, NULL, NULL));
    }
    CHECK(copy == NULL && bytes.data == NULL && guira_filter_memfd(r) == -1 && guira_filter_is_shared(r));
    CHECK(guira_filter_len(r) == len);
    guira_filter_free(heap);
}

// A reader sees what others add, takes no place, and needs no permission to write.
static void readers_look_items_up(void) {
    const char *file = fresh();
    guira_filter *r = (guira_filter *)1;
    REFUSED(GUIRA_STATUS_MISSING, "No such file", guira_filter_open_reader(file, &r));
    CHECK(r == NULL);
    guira_filter *f = create(file, 1000);
    CHECK(chmod(file, 0444) == 0);
    r = open_reader(file);
    enum { MANY = 600 };
    uint64_t hashes[MANY + 1];
    bool results[MANY + 1];
    for (uint64_t i = 0; i < MANY; i++) {
        hashes[i] = guira_filter_hash_bytes(r, &i, sizeof i);
        CHECK(hashes[i] == guira_filter_hash_bytes(f, &i, sizeof i) && !guira_filter_contains_hash(r, hashes[i]));
        OK(guira_filter_add(f, &i, sizeof i));
        CHECK(guira_filter_contains(r, &i, sizeof i) && guira_filter_contains_hash(r, hashes[i]));
        CHECK(guira_filter_count(r, &i, sizeof i) == guira_filter_count(f, &i, sizeof i));
    }
    hashes[MANY] = guira_filter_hash_bytes(r, "koel", 4);
    guira_items items = guira_hashes(hashes, MANY + 1);
    OK(guira_filter_contains_many(r, &items, results));
    for (size_t i = 0; i <= MANY; i++) CHECK(results[i] == (i < MANY));
    CHECK(guira_filter_len(r) == MANY && guira_filter_capacity(r) == guira_filter_capacity(f));
    CHECK(guira_filter_ttl_ns(r) == ttl && guira_filter_epoch_length_ns(r) == guira_filter_epoch_length_ns(f));
    CHECK(guira_filter_seed(r) == 7 && guira_filter_max_capacity(r) == guira_filter_max_capacity(f));
    CHECK(guira_filter_slots_in_use(r) == MANY && guira_filter_counter_bits(r) == 0);
    CHECK(guira_filter_load_factor(r) > 0 && guira_filter_memory_usage(r) > 1000);
    CHECK(guira_filter_false_positive_rate(r) > 0 && guira_filter_snapshot_len(r) == guira_filter_snapshot_len(f));
    readers_change_nothing(r);
    size_t in_use = 0;
    OK(guira_filter_participants(f, &in_use, NULL, NULL));
    CHECK(in_use == 1);
    guira_filter_free(r);
    guira_filter_free(f);
    r = open_reader(file);
    INVALID("items is null", guira_filter_contains_many(r, NULL, results));
    CHECK(guira_filter_contains_hash(r, hashes[0]));
    guira_filter_free(r);
}

// A reader begins no epoch.
static void readers_go_by_the_epochs_of_others(void) {
    ttl = HOUR;
    const char *file = fresh();
    guira_filter *f = create(file, 1000), *r = open_reader(file);
    OK(guira_filter_add(f, "ani", 3));
    for (uint64_t epoch = 1; epoch <= 3; epoch++) {
        CHECK(guira_filter_contains(r, "ani", 3));
        advance(f);
        CHECK(guira_filter_epoch(r) == epoch);
    }
    CHECK(!guira_filter_contains(r, "ani", 3) && guira_filter_len(r) == 0);
    guira_filter_free(r);
    guira_filter_free(f);

    // Nobody is there to begin an epoch.
    ttl = SECOND / 50;
    file = fresh();
    f = create(file, 1000);
    r = open_reader(file);
    OK(guira_filter_add(f, "ani", 3));
    guira_filter_free(f);
    usleep((useconds_t)(3 * ttl / 1000));
    CHECK(guira_filter_epoch(r) == 0 && guira_filter_contains(r, "ani", 3));
    CHECK(guira_filter_epoch_age_ns(r) >= 3 * ttl);
    f = open_shared(file);
    while (guira_filter_len(r) > 0) OK(guira_filter_tick(f, NULL, NULL, NULL));
    CHECK(guira_filter_epoch(r) > 0 && !guira_filter_contains(r, "ani", 3));
    guira_filter_free(r);
    guira_filter_free(f);
}

typedef struct {
    int descriptor;
    bool dies;
} receiver;

static void add_by_descriptor(void *argument) {
    const receiver *self = argument;
    guira_filter *f = NULL;
    bool clean = false;
    OK(guira_filter_from_memfd(self->descriptor, &f));
    CHECK(close(self->descriptor) == 0);
    OK(guira_filter_was_closed_cleanly(f, &clean));
    CHECK(clean);
    OK(guira_filter_add(f, self->dies ? "ani" : "koel", self->dies ? 3 : 4));
    if (self->dies) kill(getpid(), SIGKILL);
    guira_filter_free(f);
}

static void a_filter_without_a_file_goes_by_its_descriptor(void) {
    guira_options made = options(1000);
    guira_filter *f = NULL, *other = NULL, *heap = made_of(options(100));
    guira_filter *r = NULL;
    bool clean = false;
    int status = 0;
    OK(guira_filter_create_memfd(&made, 2, &f));
    receiver self = {dup(guira_filter_memfd(f)), false};
    CHECK(self.descriptor >= 0 && guira_filter_memfd(heap) == -1);
    guira_filter_free(heap);
    ended(start(add_by_descriptor, &self));
    self.dies = true;
    pid_t pid = start(add_by_descriptor, &self);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    CHECK(guira_filter_contains(f, "ani", 3) && guira_filter_contains(f, "koel", 4));
    OK(guira_filter_was_closed_cleanly(f, &clean));
    CHECK(clean);
    // Opening takes the place of the dead process.
    OK(guira_filter_from_memfd(self.descriptor, &other));
    OK(guira_filter_was_closed_cleanly(other, &clean));
    CHECK(!clean);
    guira_filter_free(other);
    OK(guira_filter_recount(f, NULL));
    OK(guira_filter_from_memfd(self.descriptor, &other));
    OK(guira_filter_was_closed_cleanly(other, &clean));
    CHECK(clean);
    OK(guira_filter_reader_from_memfd(self.descriptor, &r));
    CHECK(close(self.descriptor) == 0 && guira_filter_contains(r, "ani", 3) && guira_filter_len(r) == 2);
    guira_filter_free(r);
    REFUSED(GUIRA_STATUS_MISSING, "descriptor", guira_filter_from_memfd(self.descriptor, &heap));
    REFUSED(GUIRA_STATUS_MISSING, "descriptor -1", guira_filter_reader_from_memfd(-1, &r));
    int file = open(fresh(), O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "sealed", guira_filter_from_memfd(file, &heap));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "sealed", guira_filter_reader_from_memfd(file, &r));
    CHECK(heap == NULL && r == NULL && close(file) == 0);
    INVALID("filter is null", guira_filter_create_memfd(&made, 2, NULL));
    INVALID("options is null", guira_filter_create_memfd(NULL, 2, &heap));
    INVALID("filter is null", guira_filter_from_memfd(0, NULL));
    INVALID("clean is null", guira_filter_was_closed_cleanly(f, NULL));
    guira_filter_free(other);
    guira_filter_free(f);
}

static void a_snapshot_becomes_a_shared_filter(void) {
    guira_options made = options(1000);
    guira_filter *saved = NULL, *restored = NULL, *f = NULL, *g = NULL, *unnamed = NULL;
    guira_bytes bytes = {0};
    OK(guira_filter_new(&made, &saved));
    OK(guira_filter_add(saved, "ani", 3));
    OK(guira_filter_to_bytes(saved, &bytes));
    OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &restored));
    guira_bytes_free(&bytes);
    const char *place = fresh();
    OK(guira_filter_copy_to_shared(restored, place, 9, &f));
    OK(guira_filter_open_shared(place, &g));
    CHECK(guira_filter_contains(g, "ani", 3) && guira_filter_len(f) == 1 && guira_filter_is_shared(f));
    OK(guira_filter_copy_to_memfd(g, 0, &unnamed));
    CHECK(guira_filter_contains(unnamed, "ani", 3) && guira_filter_memfd(unnamed) >= 0);
    OK(guira_filter_add(restored, "koel", 4));
    OK(guira_filter_union_with(f, restored));
    OK(guira_filter_merge(unnamed, f));
    CHECK(guira_filter_len(g) == 2 && guira_filter_count(unnamed, "ani", 3) == 2);
    INVALID("itself", guira_filter_merge(f, g));
    INVALID("itself", guira_filter_union_with(f, g));
    guira_filter_free(unnamed);
    REFUSED(GUIRA_STATUS_EXISTS, place, guira_filter_copy_to_shared(saved, place, 0, &unnamed));
    REFUSED(GUIRA_STATUS_INVALID, "256 processes", guira_filter_copy_to_memfd(saved, 256, &unnamed));
    INVALID("filter is null", guira_filter_copy_to_memfd(NULL, 0, &unnamed));
    INVALID("path is null", guira_filter_copy_to_shared(saved, NULL, 0, &unnamed));
    INVALID("copy is null", guira_filter_copy_to_shared(saved, place, 0, NULL));
    CHECK(unnamed == NULL);
    guira_filter_free(saved);
    guira_filter_free(restored);
    guira_filter_free(g);
    guira_filter_free(f);
}

int main(void) {
#if defined(__linux__) && UINTPTR_MAX == UINT64_MAX
    CHECK(mkdtemp(directory) != NULL);
    for (int kind = 0; kind < 2; kind++) {
        ttl = kind ? HOUR : STAYS;
        every_call_takes_a_shared_handle();
        a_full_filter_refuses_items();
        of_racing_processes_exactly_one_wins();
        what_killed_processes_have_inserted_stays();
        places_are_limited();
        other_files_are_refused();
        hostile_contents_are_survived();
        a_file_that_is_replaced_stays_usable();
        readers_look_items_up();
        a_filter_without_a_file_goes_by_its_descriptor();
        a_snapshot_becomes_a_shared_filter();
    }
    killed_processes_lose_nothing_and_keep_nothing();
    readers_go_by_the_epochs_of_others();
    remove_all_files();
#else
    guira_filter *f = NULL;
    guira_options made = options(1000);
    UNSUPPORTED("Linux", guira_filter_create_shared(fresh(), &made, 0, &f));
    UNSUPPORTED("Linux", guira_filter_open_shared(path, &f));
    UNSUPPORTED("Linux", guira_filter_open_or_create_shared(path, &made, 0, &f, NULL));
    UNSUPPORTED("Linux", guira_filter_create_memfd(&made, 0, &f));
    UNSUPPORTED("Linux", guira_filter_from_memfd(0, &f));
    guira_filter *r = NULL;
    UNSUPPORTED("Linux", guira_filter_open_reader(path, &r));
    UNSUPPORTED("Linux", guira_filter_reader_from_memfd(0, &r));
    CHECK(f == NULL && r == NULL);
#endif
    puts("shared.c: passed");
    return 0;
}
