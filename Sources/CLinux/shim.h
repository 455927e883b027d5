// The parts of Linux that the toolchain's Glibc module leaves out.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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
