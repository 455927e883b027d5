// The parts of Linux that the toolchain's Glibc module leaves out.
#pragma once
#include <stdint.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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

// Declared by <pthread.h> only under `_GNU_SOURCE`, which would change other types that Swift has already seen.
extern int pthread_setname_np(pthread_t thread, const char *_Nonnull name);
extern int pipe2(int *_Nonnull ends, int flags);

// How many bytes a TCP socket has received in all; -1 when the kernel does not say. `tcp_info` of <netinet/tcp.h> ends
// before that field; the kernel's (<linux/tcp.h>, since Linux 4.1) has it at this offset, and its layout is fixed.
static inline int64_t fw_tcp_received(int descriptor) {
    unsigned char info[136];
    socklen_t length = sizeof info;
    int64_t count;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, &length) != 0 || length < sizeof info) return -1;
    memcpy(&count, info + 128, sizeof count);
    return count;
}
