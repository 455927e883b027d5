#define _GNU_SOURCE

#include "CAllocationCount.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define FW_SANITIZED 1
#endif
#endif

static atomic_bool is_counting;
static atomic_long allocations;
// In use, in the sizes that blocks really have. The library's own figures count what its threads keep for their next allocations.
static atomic_long bytes;

#ifndef FW_SANITIZED
// Defined in the program, these win over the C library's own, which they call. A sanitizer has its own in their place.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

// Where Dispatch's code is, once it has been looked for.
static uintptr_t dispatch_start, dispatch_end;

static int find_dispatch(struct dl_phdr_info *object, size_t size, void *unused) {
    if (!strstr(object->dlpi_name, "libdispatch")) return 0;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        dispatch_start = object->dlpi_addr + part->p_vaddr;
        dispatch_end = dispatch_start + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void look_for_dispatch(void) {
    dl_iterate_phdr(find_dispatch, NULL);
}

// Each of Dispatch's threads keeps up to a thousand blocks of its own for later: those would hide what others lose. A table of their
// addresses, by linear probing, tells them from the blocks that others made and Dispatch frees.
enum { table_size = 1 << 16 };
static void *dispatch_blocks[table_size];
static long dispatch_block_count;
static atomic_flag table_lock = ATOMIC_FLAG_INIT;

static size_t place_of(void *block) {
    return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 48;
}

static size_t find(void *block) {
    size_t place = place_of(block);
    while (dispatch_blocks[place] && dispatch_blocks[place] != block) place = (place + 1) % table_size;
    return place;
}

static void lock_table(void) {
    while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire)) {}
}

static void unlock_table(void) {
    atomic_flag_clear_explicit(&table_lock, memory_order_release);
}

static void give_up(const char *reason) {
    ssize_t written = write(STDERR_FILENO, reason, strlen(reason));
    (void)written;
    abort();
}

// Notes a block that was made for Dispatch; 0 when it was made for another.
static int note(void *block, void *caller) {
    if ((uintptr_t)caller - dispatch_start >= dispatch_end - dispatch_start) return 0;
    lock_table();
    if (dispatch_block_count > table_size / 2) give_up("more blocks of Dispatch than the table of the allocation count has room for\n");
    dispatch_blocks[find(block)] = block;
    dispatch_block_count++;
    unlock_table();
    return 1;
}

// Takes a block out of the table; 0 when it is not there.
static int forget(void *block) {
    lock_table();
    size_t hole = find(block);
    int is_there = dispatch_blocks[hole] != NULL;
    if (is_there) dispatch_block_count--;
    // What was put behind it for want of its place moves up.
    for (size_t next = hole; is_there && dispatch_blocks[next = (next + 1) % table_size];) {
        size_t distance = (next - place_of(dispatch_blocks[next])) % table_size;
        if (distance < (next - hole) % table_size) continue;
        dispatch_blocks[hole] = dispatch_blocks[next];
        hole = next;
    }
    dispatch_blocks[hole] = NULL;
    unlock_table();
    return is_there;
}

static void *made(void *block, void *caller) {
    if (!atomic_load_explicit(&is_counting, memory_order_relaxed)) return block;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    if (block && !note(block, caller)) {
        atomic_fetch_add_explicit(&bytes, (long)malloc_usable_size(block), memory_order_relaxed);
    }
    return block;
}

static void unmade(void *block) {
    if (!block || !atomic_load_explicit(&is_counting, memory_order_relaxed)) return;
    if (!forget(block)) {
        atomic_fetch_sub_explicit(&bytes, (long)malloc_usable_size(block), memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    return made(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size) {
    return made(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *block, size_t size) {
    void *caller = __builtin_return_address(0);
    unmade(block);
    void *moved = __libc_realloc(block, size);
    // NULL for a size other than 0 is a failure, after which the block is still there.
    return moved || size == 0 ? made(moved, caller) : (made(block, caller), NULL);
}

void *memalign(size_t alignment, size_t size) {
    return made(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return made(__libc_memalign(alignment, size), __builtin_return_address(0));
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *aligned = made(__libc_memalign(alignment, size), __builtin_return_address(0));
    if (!aligned) return ENOMEM;
    *block = aligned;
    return 0;
}

void free(void *block) {
    unmade(block);
    __libc_free(block);
}

#endif

void fw_count_allocations(void) {
    atomic_store_explicit(&is_counting, true, memory_order_relaxed);
}

long fw_allocation_count(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

long fw_heap_byte_count(void) {
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}
