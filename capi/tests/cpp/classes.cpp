// The classes of guira.hpp.
#include "guira.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

template <class Call>
guira_status status_of(Call call) {
    try {
        call();
    } catch (const guira::error &error) {
        CHECK(error.what()[0] != '\0');
        return error.status();
    }
    return GUIRA_STATUS_OK;
}

// A filter that two handles share, in a file.
static void shared_filters(const guira_options &options) {
    const std::string path = "/dev/shm/guira-classes-" + std::to_string(getpid());
    CHECK(status_of([&] { guira::filter::open_shared(path); }) == GUIRA_STATUS_MISSING);
    CHECK(status_of([&] { guira::filter::open_reader(path); }) == GUIRA_STATUS_MISSING);
    guira::filter one = guira::filter::create_shared(path, options), other = guira::filter::open_shared(path);
    CHECK(status_of([&] { guira::filter::create_shared(path, options); }) == GUIRA_STATUS_EXISTS);
    CHECK(one.add_unique("ani") && other.contains("ani") && !other.add_unique("ani"));
    CHECK(other.ttl() == one.ttl() && one.ttl().count() == static_cast<std::int64_t>(options.ttl_ns));
    other.attach();
    CHECK(one.is_shared() && one.repair() == 0);
    CHECK(status_of([&] { one.recount(); }) == GUIRA_STATUS_OCCUPIED);
    one.union_with(other.copy());
    CHECK(one.size() == 1);
    { guira::filter ended = std::move(other); }
    CHECK(one.recount() == 1 && guira::filter::from_bytes(one.to_bytes()).contains("ani"));
    CHECK(guira::filter::open_or_create_shared(path, options).size() == 1);
    guira::filter reader = guira::filter::open_reader(path);
    CHECK(reader.contains("ani") && reader.count("ani") == 1 && reader.size() == 1);
    CHECK(status_of([&] { reader.add("koel"); }) == GUIRA_STATUS_UNSUPPORTED && !reader.remove("ani"));
    CHECK(one.was_closed_cleanly() && one.memfd() == -1);
    guira::filter unnamed = guira::filter::create_memfd(options), same = guira::filter::from_memfd(unnamed.memfd());
    same.add("koel");
    CHECK(guira::filter::reader_from_memfd(unnamed.memfd()).contains("koel"));
    CHECK(status_of([&] { guira::filter::reader_from_memfd(-1); }) == GUIRA_STATUS_MISSING);
    std::remove(path.c_str());
    guira::filter restored = guira::filter::from_bytes(one.to_bytes());
    guira::filter again = restored.copy_to_shared(path), memory = again.copy_to_memfd(9);
    CHECK(again.is_shared() && memory.contains("ani") && guira::filter::open_shared(path).size() == 1);
    CHECK(status_of([&] { again.merge(guira::filter::open_shared(path)); }) == GUIRA_STATUS_INVALID);
    std::remove(path.c_str());
}

// Epochs that one handle begins.
static void shared_time() {
    using namespace std::chrono_literals;
    guira_options options = guira::expiring(20ms, 1000);
    guira::filter one = guira::filter::create_memfd(options), other = guira::filter::from_memfd(one.memfd());
    guira::filter reader = guira::filter::reader_from_memfd(one.memfd());
    CHECK(one.add_unique("ani") && other.refresh("ani") && reader.contains("ani"));
    CHECK(reader.epoch() == 0 && reader.epoch_age().has_value() && one.epoch_age() >= 0ns);
    while (reader.contains("ani")) one.tick();
    CHECK(reader.epoch() == other.epoch() && reader.epoch() > 1 && !other.contains("ani"));
    options.max_capacity = 100000;
    CHECK(status_of([&] { guira::filter::create_memfd(options); }) == GUIRA_STATUS_UNSUPPORTED);
}

int main() {
#if defined(__linux__) && UINTPTR_MAX == UINT64_MAX
    shared_filters(guira::options(1000));
    shared_filters(guira::expiring(std::chrono::hours(1), 1000));
    shared_time();
#endif
    guira_options options = guira::options(0);
    options.counter_bits = 8;
    guira::filter counting(options);
    for (std::size_t copies = 1; copies <= 1000; copies++) {
        counting.add("ani");
        CHECK(counting.count("ani") == copies && counting.size() == copies);
    }
    CHECK(counting.slots_in_use() <= 4 && counting.add_and_count("ani") == 1001);
    guira::filter seen(1000);
    CHECK(seen.add_unique("ani") && !seen.add_unique("ani"));
    seen.add(std::string(100, 'x'));
    CHECK(seen.contains("ani") && !seen.contains("koel") && seen.size() == 2);
    CHECK(seen.count("ani") == 1 && seen.remove("ani") && !seen.remove("ani"));

    const std::uint64_t hashes[] = {1u << 20, 2u << 20, 3u << 20};
    bool results[3] = {false, false, false};
    seen.add(guira_hashes(hashes, 3));
    seen.contains(guira_hashes(hashes, 3), results);
    CHECK(results[0] && results[1] && results[2]);
    seen.remove(guira_hashes(hashes, 3), results);
    CHECK(results[0] && results[1] && results[2] && seen.size() == 1);

    guira::filter copy = seen.copy(), read = guira::filter::from_bytes(seen.to_bytes());
    guira::filter moved = std::move(copy);
    CHECK(moved.contains(std::string(100, 'x')) && read.size() == 1);
    moved.merge(read);
    CHECK(moved.size() == 2);
    // Both filters have the item, and neither has it more often than twice.
    moved.union_with(read);
    CHECK(moved.size() == 2);
    read.union_with(moved);
    CHECK(read.size() == 2 && read.count(std::string(100, 'x')) == 2);
    CHECK(status_of([&] { read.union_with(read); }) == GUIRA_STATUS_INVALID);
    read.intersect_with(moved);
    CHECK(read.size() == 2);
    read.difference_with(moved);
    CHECK(read.size() == 0);
    moved.clear();
    CHECK(moved.size() == 0);

    // A batch that throws sets how many items are decided.
    std::size_t done = 77;
    CHECK(status_of([&] { seen.add(guira_hashes(nullptr, 3), &done); }) == GUIRA_STATUS_INVALID && done == 0);
    done = 77;
    const guira_items unknown = {9, 0, 3, hashes, 0, nullptr};
    CHECK(status_of([&] { seen.add_unique(unknown, results, &done); }) == GUIRA_STATUS_INVALID && done == 0);

    CHECK(status_of([&] { moved.merge(moved); }) == GUIRA_STATUS_INVALID);
    CHECK(status_of([] { guira::filter(1000, 2.0); }) == GUIRA_STATUS_INVALID);
    CHECK(status_of([] { guira::filter::from_bytes("x"); }) == GUIRA_STATUS_SNAPSHOT);
    CHECK(status_of([&] { for (;;) seen.add("one"); }) == GUIRA_STATUS_FULL);

    using namespace std::chrono_literals;
    guira::filter window(guira::expiring(24h, 10000));
    std::vector<std::thread> threads;
    for (int first = 0; first < 4; first++) {
        threads.emplace_back([&window, first] {
            for (int item = first; item < 4000; item += 4) window.add_or_refresh(std::to_string(item));
        });
    }
    for (auto &thread : threads) thread.join();
    CHECK(window.refresh("17") && !window.refresh("absent one"));
    CHECK(guira::filter::from_bytes(window.to_bytes()).contains("3999"));
    CHECK(!guira::filter::from_bytes(window.to_bytes(), 48h).contains("3999"));
    // A negative age is none, and a negative TTL is refused like 0.
    CHECK(guira::filter::from_bytes(window.to_bytes(), -1ns).contains("3999"));
    CHECK(status_of([] { guira::expiring(-1ns, 1000); }) == GUIRA_STATUS_INVALID);
    CHECK(status_of([] { guira::expiring(0ns, 1000); }) == GUIRA_STATUS_INVALID);
    guira::filter same = window.copy();
    same.union_with(window);
    CHECK(same.size() == window.size());
    guira::filter brief(guira::expiring(24ms, 1000));
    brief.add_or_refresh("ani");
    while (brief.size() > 0) brief.tick();
    CHECK(brief.ttl() == 24ms && seen.ttl() == 0ns && seen.epoch() == 0);
    for (std::uint64_t max_capacity : {0, 100000}) {
        options = guira::expiring(24h, 1000, 0.001, max_capacity);
        options.counter_bits = 8;
        guira::filter limit(options);
        for (std::size_t count = 1; count <= 300; count++) CHECK(limit.add_and_count("ani") == count);
        CHECK(guira::filter::from_bytes(limit.to_bytes(), 1h).count("ani") == 300);
        CHECK(guira::filter::from_bytes(limit.to_bytes(), 48h).add_and_count("ani") == 1);
        CHECK(status_of([&] { for (;;) limit.add_and_count("ani"); }) == GUIRA_STATUS_FULL);
    }
    CHECK(status_of([&] { for (;;) counting.add_and_count("koel"); }) == GUIRA_STATUS_FULL);
    CHECK(status_of([&] { seen.tick(); }) == GUIRA_STATUS_UNSUPPORTED);
    CHECK(status_of([&] { seen.refresh("ani"); }) == GUIRA_STATUS_UNSUPPORTED);
    CHECK(status_of([&] { seen.merge(window); }) == GUIRA_STATUS_INVALID);
    std::puts("classes.cpp: passed");
}
