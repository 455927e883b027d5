#include "CAllocationCount.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define FW_SANITIZED 1
#endif
#endif

static atomic_long allocations;

#ifndef FW_SANITIZED
// Defined in the program, these win over the C library's own, which they call. A sanitizer has its own in their place.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_realloc(block, size);
}

#endif

long fw_allocation_count(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

long fw_heap_byte_count(void) {
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}
