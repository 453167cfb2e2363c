// guira for C++17: an owning class, std::string_view and exceptions over guira.h.
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
        : error(status, status == GUIRA_STATUS_FULL   ? "the filter is full"
                        : status == GUIRA_STATUS_BUSY ? "busy: call again"
                                                      : guira_last_message()) {}
    error(guira_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    guira_status status() const noexcept { return status_; }

private:
    guira_status status_;
};

inline void check(guira_status status) {
    if (status != GUIRA_STATUS_OK) throw error(status);
}

// How to make a filter: set further fields as for C.
inline guira_options options(std::uint64_t capacity, double false_positive_rate = 0.001,
                             std::uint64_t max_capacity = 0) noexcept {
    guira_options options;
    std::memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = capacity;
    options.false_positive_rate = false_positive_rate;
    options.max_capacity = max_capacity;
    return options;
}

// The same, for a filter that forgets items some time after they were last seen.
inline guira_options expiring(std::chrono::nanoseconds ttl, std::uint64_t capacity,
                              double false_positive_rate = 0.001, std::uint64_t max_capacity = 0) {
    if (ttl.count() <= 0)
        throw error(GUIRA_STATUS_INVALID, "the TTL is " + std::to_string(ttl.count()) + " ns: it must be positive");
    guira_options made = options(capacity, false_positive_rate, max_capacity);
    made.ttl_ns = static_cast<std::uint64_t>(ttl.count());
    return made;
}

class filter {
public:
    explicit filter(std::uint64_t capacity, double false_positive_rate = 0.001, std::uint64_t max_capacity = 0)
        : filter(options(capacity, false_positive_rate, max_capacity)) {}
    explicit filter(const guira_options &options)
        : filter(made([&](guira_filter **made) { return guira_filter_new(&options, made); })) {}
    // Takes the handle over.
    explicit filter(guira_filter *handle) noexcept : handle_(handle, guira_filter_free) {}
    // A snapshot of this age; a negative one is none.
    static filter from_bytes(std::string_view bytes, std::chrono::nanoseconds age = {},
                             std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) {
        const std::uint64_t elapsed = age.count() < 0 ? 0 : static_cast<std::uint64_t>(age.count());
        return made([&](guira_filter **made) {
            return guira_filter_from_bytes(bytes.data(), bytes.size(), max_bytes, elapsed, made);
        });
    }
    guira_filter *get() const noexcept { return handle_.get(); }

    void add(std::string_view item) { check(guira_filter_add(get(), item.data(), item.size())); }
    // How many copies there are now, with a TTL those within it: a rate limit.
    std::size_t add_and_count(std::string_view item) {
        std::size_t count = 0;
        check(guira_filter_add_and_count(get(), item.data(), item.size(), &count));
        return count;
    }
    bool add_unique(std::string_view item) {
        return answer([&](bool *added) { return guira_filter_add_unique(get(), item.data(), item.size(), added); });
    }
    bool contains(std::string_view item) const noexcept {
        return guira_filter_contains(get(), item.data(), item.size());
    }
    bool remove(std::string_view item) noexcept { return guira_filter_remove(get(), item.data(), item.size()); }
    std::size_t count(std::string_view item) const noexcept {
        return guira_filter_count(get(), item.data(), item.size());
    }
    // A batch. `done` is set to how many items are decided, also if it throws.
    void add(const guira_items &items, std::size_t *done = nullptr) {
        check(guira_filter_add_many(get(), &items, done));
    }
    void add_unique(const guira_items &items, bool *added, std::size_t *done = nullptr) {
        check(guira_filter_add_unique_many(get(), &items, added, done));
    }
    void contains(const guira_items &items, bool *results) const {
        check(guira_filter_contains_many(get(), &items, results));
    }
    void remove(const guira_items &items, bool *results) { check(guira_filter_remove_many(get(), &items, results)); }

    std::size_t size() const noexcept { return guira_filter_len(get()); }
    std::size_t slots_in_use() const noexcept { return guira_filter_slots_in_use(get()); }
    void clear() { check(guira_filter_clear(get())); }
    void merge(const filter &other) { check(guira_filter_merge(get(), other.get())); }
    void union_with(const filter &other) { check(guira_filter_union_with(get(), other.get())); }
    void intersect_with(const filter &other) { check(guira_filter_intersect_with(get(), other.get())); }
    void difference_with(const filter &other) { check(guira_filter_difference_with(get(), other.get())); }
    filter copy() const {
        return made([&](guira_filter **made) { return guira_filter_copy(get(), made); });
    }
    std::string to_bytes() const {
        guira_bytes bytes = {nullptr, 0, 0};
        check(guira_filter_to_bytes(get(), &bytes));
        std::unique_ptr<guira_bytes, void (*)(guira_bytes *)> freed(&bytes, guira_bytes_free);
        return std::string(reinterpret_cast<const char *>(bytes.data), bytes.len);
    }

    // Of a filter with a TTL: others throw UNSUPPORTED, or return 0.
    bool refresh(std::string_view item) {
        return answer([&](bool *present) { return guira_filter_refresh(get(), item.data(), item.size(), present); });
    }
    bool add_or_refresh(std::string_view item) {
        return answer([&](bool *added) {
            return guira_filter_add_or_refresh(get(), item.data(), item.size(), added);
        });
    }
    // By the library's own clock. Writes to a filter on the heap do this, too. A shared filter needs it
    // about four times per epoch, or nothing expires.
    bool tick() {
        return answer([&](bool *began) { return guira_filter_tick(get(), nullptr, nullptr, began); });
    }
    std::chrono::nanoseconds ttl() const noexcept { return duration(guira_filter_ttl_ns(get())); }
    std::uint64_t epoch() const noexcept { return guira_filter_epoch(get()); }
    // Much longer than an epoch if no process ticks. None if it is unknown when the epoch began.
    std::optional<std::chrono::nanoseconds> epoch_age() const noexcept {
        const std::uint64_t age = guira_filter_epoch_age_ns(get());
        if (age == UINT64_MAX) return std::nullopt;
        return duration(age);
    }

    // A filter in a file that processes share, on 64-bit Linux: created, opened, or either.
    static filter create_shared(const std::string &path, const guira_options &options,
                                std::uint32_t max_processes = 0) {
        return made([&](guira_filter **made) {
            return guira_filter_create_shared(path.c_str(), &options, max_processes, made);
        });
    }
    static filter open_shared(const std::string &path) {
        return made([&](guira_filter **made) { return guira_filter_open_shared(path.c_str(), made); });
    }
    static filter open_or_create_shared(const std::string &path, const guira_options &options,
                                        std::uint32_t max_processes = 0) {
        return made([&](guira_filter **made) {
            return guira_filter_open_or_create_shared(path.c_str(), &options, max_processes, made, nullptr);
        });
    }
    // A filter in memory without a name; `memfd` is its descriptor, by which other processes open it.
    static filter create_memfd(const guira_options &options, std::uint32_t max_processes = 0) {
        return made([&](guira_filter **made) { return guira_filter_create_memfd(&options, max_processes, made); });
    }
    static filter from_memfd(int descriptor) {
        return made([&](guira_filter **made) { return guira_filter_from_memfd(descriptor, made); });
    }
    // A shared filter in which this process only looks items up: calls that change it throw UNSUPPORTED.
    static filter open_reader(const std::string &path) {
        return made([&](guira_filter **made) { return guira_filter_open_reader(path.c_str(), made); });
    }
    static filter reader_from_memfd(int descriptor) {
        return made([&](guira_filter **made) { return guira_filter_reader_from_memfd(descriptor, made); });
    }
    // A copy in a new file or in memory without a name, for processes to share: of a snapshot, too.
    filter copy_to_shared(const std::string &path, std::uint32_t max_processes = 0) const {
        return made([&](guira_filter **made) {
            return guira_filter_copy_to_shared(get(), path.c_str(), max_processes, made);
        });
    }
    filter copy_to_memfd(std::uint32_t max_processes = 0) const {
        return made([&](guira_filter **made) { return guira_filter_copy_to_memfd(get(), max_processes, made); });
    }
    int memfd() const noexcept { return guira_filter_memfd(get()); }
    bool was_closed_cleanly() const {
        return answer([&](bool *clean) { return guira_filter_was_closed_cleanly(get(), clean); });
    }
    bool is_shared() const noexcept { return guira_filter_is_shared(get()); }
    void attach() { check(guira_filter_attach(get())); }
    // The number of killed processes after which it cleaned up.
    std::size_t repair() {
        std::size_t processes = 0;
        check(guira_filter_repair(get(), &processes));
        return processes;
    }
    // No other thread may use the object at the same time.
    std::size_t recount() {
        std::size_t len = 0;
        check(guira_filter_recount(get(), &len));
        return len;
    }

private:
    template <class Call>
    static filter made(Call call) {
        guira_filter *made = nullptr;
        check(call(&made));
        return filter(made);
    }
    template <class Call>
    static bool answer(Call call) {
        bool yes = false;
        check(call(&yes));
        return yes;
    }
    static std::chrono::nanoseconds duration(std::uint64_t nanoseconds) noexcept {
        return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(nanoseconds));
    }

    std::unique_ptr<guira_filter, void (*)(guira_filter *)> handle_;
};

}  // namespace guira

#endif
