// Preloaded into the models of loom: keeps the stack of a thread that has ended for the next thread.
//
// Each iteration of a model starts new threads, which are coroutines of the crate `generator`. It maps,
// protects and unmaps a stack for each. Without that, an exploration takes half the time.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The stack of a coroutine with its guard page. If `generator` takes another size, nothing is kept.
enum { PAGE = 0x1000, STACK = 0x8000 + PAGE, MOST = 64 };

static __thread void *kept[MOST];
static __thread int count;
// The stack that was used again last. Its lowest page is protected already.
static __thread void *reused;

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    if (address == NULL && length == STACK && (flags & MAP_STACK) && count > 0) {
        reused = kept[--count];
        return reused;
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

int mprotect(void *address, size_t length, int protection) {
    if (address == reused && length == PAGE && protection == PROT_NONE) {
        reused = NULL;
        return 0;
    }
    return syscall(SYS_mprotect, address, length, protection);
}

int munmap(void *address, size_t length) {
    if (length == STACK && count < MOST) {
        kept[count++] = address;
        return 0;
    }
    return syscall(SYS_munmap, address, length);
}
