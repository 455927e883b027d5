// The parts of Linux that the toolchain's Glibc module leaves out.
#pragma once
#if !defined(__linux__)
#error "Fireweed is for Linux; on Apple's platforms use Alamofire itself"
#endif
#include <stdint.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/stat.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// `epoll_data_t` is a union; Swift sees its members only through an accessor.
static inline struct epoll_event fw_epoll_event(uint32_t events, uint64_t tag) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = tag;
    return event;
}

static inline uint64_t fw_epoll_tag(const struct epoll_event *_Nonnull event) {
    return event->data.u64;
}

// `struct timespec` belongs to whichever module Swift saw first, which depends on the order of a build's files.
static inline uint64_t fw_clock_nanoseconds(clockid_t clock) {
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// The inode of a file, and the time at which it was made: nanoseconds since 1970, or 0 where the file system has none.
// A symbolic link is a file of its own. Returns -1 without a file.
// The C library declares statx(2) only under `_GNU_SOURCE`.
static inline int fw_file_identity(const char *_Nonnull path, uint64_t *_Nonnull inode, uint64_t *_Nonnull birth) {
    struct statx status = {0};
    if (syscall(SYS_statx, AT_FDCWD, path, 0x100 /* AT_SYMLINK_NOFOLLOW */, STATX_INO | STATX_BTIME, &status) != 0) return -1;
    *inode = status.stx_ino;
    *birth = status.stx_mask & STATX_BTIME
        ? (uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec : 0;
    return 0;
}

// Declared by <pthread.h> only under `_GNU_SOURCE`, which would change other types that Swift has already seen.
extern int pthread_setname_np(pthread_t thread, const char *_Nonnull name);
extern int pipe2(int *_Nonnull ends, int flags);

// Declared by <sys/uio.h> only under `_GNU_SOURCE`, as is the flag's name.
extern ssize_t preadv2(int descriptor, const struct iovec *_Nonnull parts, int count, off_t offset, int flags);

// Reads what the kernel has in memory from a place of a file; -1 with EAGAIN where the call would wait for the disk.
static inline ssize_t fw_read_cached(int descriptor, void *_Nullable buffer, size_t size, off_t place) {
    struct iovec part = {buffer, size};
    return preadv2(descriptor, &part, 1, place, 8 /* RWF_NOWAIT */);
}

// Whether the kernel has in memory the byte at a place of a file.
static inline int fw_has_cached(int descriptor, off_t place) {
    char byte;
    struct iovec part = {&byte, 1};
    return preadv2(descriptor, &part, 1, place, 8 /* RWF_NOWAIT */) == 1;
}
