// What the tests of filters that processes share have in common: files, and children.
#ifndef PROCESSES_H
#define PROCESSES_H

#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/dev/shm/guira-XXXXXX";
// The last new name.
static const char *path;

// A new name of a file in the directory.
static inline const char *fresh(void) {
    static char names[64][64];
    static int number;
    CHECK(number < 64);
    path = names[number];
    snprintf(names[number], sizeof names[number], "%s/%d", directory, number);
    number++;
    return path;
}

// Memory that children share.
static inline void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

// Waits for the end of the library's thread, which needs a moment after the last filter that had it. Fails if
// there is such a filter: one with a TTL on the heap.
static inline void wait_until_alone(void) {
    enum { MILLISECONDS = 60000 };
    struct stat tasks;
    for (int waited = 0;; waited++) {
        // A folder has a link from each folder in it, and two more.
        CHECK(stat("/proc/self/task", &tasks) == 0);
        if (tasks.st_nlink <= 3) return;
        CHECK(waited < MILLISECONDS);
        usleep(1000);
    }
}

// Runs `child` in a new process, which ends without the parent's handlers. It would lose what other threads
// of its parent own, and valgrind would say so. Not inlined: else the child would also lose what only its
// parent uses later.
__attribute__((noinline)) static pid_t start(void (*child)(void *), void *argument) {
    fflush(NULL);
    wait_until_alone();
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child(argument);
        _exit(0);
    }
    return pid;
}

static inline void ended(pid_t pid) {
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline void damage(const char *file, off_t at, const void *bytes, size_t len) {
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && pwrite(fd, bytes, len, at) == (ssize_t)len && close(fd) == 0);
}

static inline void remove_all_files(void) {
    DIR *files = opendir(directory);
    CHECK(files != NULL);
    for (struct dirent *file; (file = readdir(files));) {
        if (file->d_name[0] != '.') unlinkat(dirfd(files), file->d_name, 0);
    }
    closedir(files);
    CHECK(rmdir(directory) == 0);
}

#endif
