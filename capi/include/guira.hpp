// guira for C++17: owning classes, std::string_view and exceptions over guira.h.
//
// Any number of threads may share an object; only its destruction, moves and `recount` exclude all else.
#ifndef GUIRA_HPP
#define GUIRA_HPP

#include "guira.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace guira {

class error : public std::runtime_error {
public:
    explicit error(guira_status status)
        : std::runtime_error(status == GUIRA_STATUS_FULL   ? "the filter is full"
                             : status == GUIRA_STATUS_BUSY ? "busy: call again"
                                                           : guira_last_message()),
          status_(status) {}
    guira_status status() const noexcept { return status_; }

private:
    guira_status status_;
};

inline void check(guira_status status) {
    if (status != GUIRA_STATUS_OK) throw error(status);
}

// The nanoseconds of a duration. A negative one counts as 0, which is not a TTL.
inline std::uint64_t nanoseconds(std::chrono::nanoseconds duration) noexcept {
    return duration.count() < 0 ? 0 : static_cast<std::uint64_t>(duration.count());
}

// The age of an epoch of this number of nanoseconds. The largest number is an unknown age.
inline std::optional<std::chrono::nanoseconds> age(std::uint64_t nanoseconds) noexcept {
    if (nanoseconds == UINT64_MAX) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(nanoseconds));
}

// The calls of both kinds of filter for those that processes share.
#define GUIRA_SHARED(NAME, OPTIONS)                                                                    \
    /* A filter in a file that processes share, on 64-bit Linux: created, opened, or either. */        \
    static NAME create_shared(const std::string &path, const OPTIONS &options,                         \
                                std::uint32_t max_processes = 0) {                                     \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_create_shared(path.c_str(), &options, max_processes, &made));             \
        return NAME(made);                                                                             \
    }                                                                                                  \
    static NAME open_shared(const std::string &path) {                                                 \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_open_shared(path.c_str(), &made));                                        \
        return NAME(made);                                                                             \
    }                                                                                                  \
    static NAME open_or_create_shared(const std::string &path, const OPTIONS &options,                 \
                                        std::uint32_t max_processes = 0) {                             \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_open_or_create_shared(path.c_str(), &options, max_processes, &made, nullptr));\
        return NAME(made);                                                                             \
    }                                                                                                  \
    /* A filter in memory without a name; `memfd` is its descriptor, by which other processes open it. */\
    static NAME create_memfd(const OPTIONS &options, std::uint32_t max_processes = 0) {                \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_create_memfd(&options, max_processes, &made));                            \
        return NAME(made);                                                                             \
    }                                                                                                  \
    static NAME from_memfd(int descriptor) {                                                           \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_from_memfd(descriptor, &made));                                           \
        return NAME(made);                                                                             \
    }                                                                                                  \
    /* A copy in a new file or in memory without a name, for processes to share: of a snapshot, too. */\
    NAME copy_to_shared(const std::string &path, std::uint32_t max_processes = 0) const {              \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_copy_to_shared(get(), path.c_str(), max_processes, &made));               \
        return NAME(made);                                                                             \
    }                                                                                                  \
    NAME copy_to_memfd(std::uint32_t max_processes = 0) const {                                        \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_copy_to_memfd(get(), max_processes, &made));                              \
        return NAME(made);                                                                             \
    }                                                                                                  \
    int memfd() const noexcept { return guira_##NAME##_memfd(get()); }                                 \
    bool was_closed_cleanly() const {                                                                  \
        bool clean = false;                                                                            \
        check(guira_##NAME##_was_closed_cleanly(get(), &clean));                                       \
        return clean;                                                                                  \
    }                                                                                                  \
    bool is_shared() const noexcept { return guira_##NAME##_is_shared(get()); }                        \
    void attach() { check(guira_##NAME##_attach(get())); }                                             \
    /* The number of killed processes after which it cleaned up. */                                    \
    std::size_t repair() {                                                                             \
        std::size_t processes = 0;                                                                     \
        check(guira_##NAME##_repair(get(), &processes));                                               \
        return processes;                                                                              \
    }                                                                                                  \
    /* No other thread may use the object at the same time. */                                         \
    std::size_t recount() {                                                                            \
        std::size_t len = 0;                                                                           \
        check(guira_##NAME##_recount(get(), &len));                                                    \
        return len;                                                                                    \
    }

// The calls of both kinds of reader.
#define GUIRA_READER(NAME)                                                                             \
    static NAME open_shared(const std::string &path) {                                                 \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_open_shared(path.c_str(), &made));                                        \
        return NAME(made);                                                                             \
    }                                                                                                  \
    static NAME from_memfd(int descriptor) {                                                           \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_from_memfd(descriptor, &made));                                           \
        return NAME(made);                                                                             \
    }                                                                                                  \
    guira_##NAME *get() const noexcept { return handle_.get(); }                                       \
    bool contains(std::string_view item) const noexcept {                                              \
        return guira_##NAME##_contains(get(), item.data(), item.size());                               \
    }                                                                                                  \
    void contains(const guira_items &items, bool *results) const {                                     \
        check(guira_##NAME##_contains_many(get(), &items, results));                                   \
    }                                                                                                  \
    std::size_t count(std::string_view item) const noexcept {                                          \
        return guira_##NAME##_count(get(), item.data(), item.size());                                  \
    }                                                                                                  \
    std::size_t size() const noexcept { return guira_##NAME##_len(get()); }                            \
    /* Takes the handle over. */                                                                       \
    explicit NAME(guira_##NAME *handle) noexcept : handle_(handle, guira_##NAME##_free) {}             \
                                                                                                       \
private:                                                                                               \
    std::unique_ptr<guira_##NAME, void (*)(guira_##NAME *)> handle_;

// The calls of both kinds of filter, by their names in C.
#define GUIRA_CLASS(NAME)                                                                              \
    guira_##NAME *get() const noexcept { return handle_.get(); }                                       \
    void add(std::string_view item) { check(guira_##NAME##_add(get(), item.data(), item.size())); }    \
    bool add_unique(std::string_view item) {                                                           \
        bool added = false;                                                                            \
        check(guira_##NAME##_add_unique(get(), item.data(), item.size(), &added));                     \
        return added;                                                                                  \
    }                                                                                                  \
    bool contains(std::string_view item) const noexcept {                                              \
        return guira_##NAME##_contains(get(), item.data(), item.size());                               \
    }                                                                                                  \
    bool remove(std::string_view item) noexcept {                                                      \
        return guira_##NAME##_remove(get(), item.data(), item.size());                                 \
    }                                                                                                  \
    std::size_t count(std::string_view item) const noexcept {                                          \
        return guira_##NAME##_count(get(), item.data(), item.size());                                  \
    }                                                                                                  \
    /* A batch. `done` is set to how many items are decided, also if it throws. */                     \
    void add(const guira_items &items, std::size_t *done = nullptr) {                                  \
        check(guira_##NAME##_add_many(get(), &items, done));                                           \
    }                                                                                                  \
    void add_unique(const guira_items &items, bool *added, std::size_t *done = nullptr) {              \
        check(guira_##NAME##_add_unique_many(get(), &items, added, done));                             \
    }                                                                                                  \
    void contains(const guira_items &items, bool *results) const {                                     \
        check(guira_##NAME##_contains_many(get(), &items, results));                                   \
    }                                                                                                  \
    void remove(const guira_items &items, bool *results) {                                             \
        check(guira_##NAME##_remove_many(get(), &items, results));                                     \
    }                                                                                                  \
    std::size_t size() const noexcept { return guira_##NAME##_len(get()); }                            \
    void clear() { check(guira_##NAME##_clear(get())); }                                               \
    void merge(const NAME &other) { check(guira_##NAME##_merge(get(), other.get())); }                 \
    void union_with(const NAME &other) { check(guira_##NAME##_union_with(get(), other.get())); }       \
    NAME copy() const {                                                                                \
        guira_##NAME *made = nullptr;                                                                  \
        check(guira_##NAME##_copy(get(), &made));                                                      \
        return NAME(made);                                                                             \
    }                                                                                                  \
    std::string to_bytes() const {                                                                     \
        guira_bytes bytes = {nullptr, 0, 0};                                                           \
        check(guira_##NAME##_to_bytes(get(), &bytes));                                                 \
        std::unique_ptr<guira_bytes, void (*)(guira_bytes *)> freed(&bytes, guira_bytes_free);         \
        return std::string(reinterpret_cast<const char *>(bytes.data), bytes.len);                     \
    }                                                                                                  \
    /* Takes the handle over. */                                                                       \
    explicit NAME(guira_##NAME *handle) noexcept : handle_(handle, guira_##NAME##_free) {}             \
                                                                                                       \
private:                                                                                               \
    std::unique_ptr<guira_##NAME, void (*)(guira_##NAME *)> handle_;

class filter {
public:
    explicit filter(std::uint64_t capacity, double false_positive_rate = 0.001, std::uint64_t max_capacity = 0)
        : filter(options(capacity, false_positive_rate, max_capacity)) {}
    explicit filter(const guira_options &options) : filter(made(options)) {}
    static filter from_bytes(std::string_view bytes,
                             std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) {
        guira_filter *made = nullptr;
        check(guira_filter_from_bytes(bytes.data(), bytes.size(), max_bytes, &made));
        return filter(made);
    }
    std::size_t slots_in_use() const noexcept { return guira_filter_slots_in_use(get()); }
    GUIRA_SHARED(filter, guira_options)
    GUIRA_CLASS(filter)

    static guira_options options(std::uint64_t capacity, double rate, std::uint64_t max_capacity) {
        guira_options options;
        std::memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.capacity = capacity;
        options.false_positive_rate = rate;
        options.max_capacity = max_capacity;
        return options;
    }
    static guira_filter *made(const guira_options &options) {
        guira_filter *made = nullptr;
        check(guira_filter_new(&options, &made));
        return made;
    }
};

// A shared filter in which this process only looks items up.
class reader {
public:
    GUIRA_READER(reader)
};

// A shared expiring filter in which this process only looks items up. It begins no epoch: if no process
// ticks, nothing expires.
class expiring_reader {
public:
    std::uint64_t epoch() const noexcept { return guira_expiring_reader_epoch(get()); }
    // Much longer than an epoch if no process ticks. None if it is unknown when the epoch began.
    std::optional<std::chrono::nanoseconds> epoch_age() const noexcept {
        return age(guira_expiring_reader_epoch_age_ns(get()));
    }
    GUIRA_READER(expiring_reader)
};

class expiring {
public:
    explicit expiring(std::chrono::nanoseconds ttl, std::uint64_t capacity, double false_positive_rate = 0.001,
                      std::uint64_t max_capacity = 0)
        : expiring(options(ttl, capacity, false_positive_rate, max_capacity)) {}
    explicit expiring(const guira_expiring_options &options) : expiring(made(options)) {}
    static expiring from_bytes(std::string_view bytes, std::chrono::nanoseconds age = {},
                               std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) {
        guira_expiring *made = nullptr;
        check(guira_expiring_from_bytes(bytes.data(), bytes.size(), max_bytes,
                                        nanoseconds(age), &made));
        return expiring(made);
    }
    bool refresh(std::string_view item) {
        bool present = false;
        check(guira_expiring_refresh(get(), item.data(), item.size(), &present));
        return present;
    }
    bool add_or_refresh(std::string_view item) {
        bool added = false;
        check(guira_expiring_add_or_refresh(get(), item.data(), item.size(), &added));
        return added;
    }
    // By the library's own clock. Call it about four times per epoch: without it nothing expires.
    bool tick() {
        bool began = false;
        check(guira_expiring_tick(get(), nullptr, nullptr, &began));
        return began;
    }
    std::uint64_t epoch() const noexcept { return guira_expiring_epoch(get()); }
    // None if it is unknown when the epoch began.
    std::optional<std::chrono::nanoseconds> epoch_age() const noexcept {
        return age(guira_expiring_epoch_age_ns(get()));
    }
    GUIRA_SHARED(expiring, guira_expiring_options)
    GUIRA_CLASS(expiring)

    static guira_expiring_options options(std::chrono::nanoseconds ttl, std::uint64_t capacity, double rate,
                                          std::uint64_t max_capacity) {
        guira_expiring_options options;
        std::memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.ttl_ns = nanoseconds(ttl);
        options.capacity = capacity;
        options.false_positive_rate = rate;
        options.max_capacity = max_capacity;
        return options;
    }
    static guira_expiring *made(const guira_expiring_options &options) {
        guira_expiring *made = nullptr;
        check(guira_expiring_new(&options, &made));
        return made;
    }
};

#undef GUIRA_CLASS
#undef GUIRA_SHARED
#undef GUIRA_READER

}  // namespace guira

#endif
