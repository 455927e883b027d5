#define _GNU_SOURCE
#include "CBareLoop.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// A connection that asked, and when it is answered. All wait equally long, so that the oldest is always the next.
typedef struct waiting {
    struct waiting *next;
    int descriptor;
    long due;  // milliseconds of the monotonic clock
} waiting;

typedef struct server {
    int listener, delay;  // milliseconds
} server;

static const char answer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}";

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Takes new connections, and everything that has come on the others: a request is small enough to come in one piece.
static void take(int epoll, int listener, struct epoll_event *events, int count, waiting ***last, int delay) {
    for (int i = 0; i < count; i++) {
        int descriptor = events[i].data.fd;
        if (descriptor == listener) {
            int accepted;
            while ((accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) watch(epoll, accepted);
            continue;
        }
        char bytes[4096];
        if (recv(descriptor, bytes, sizeof bytes, 0) <= 0) {
            close(descriptor);
            continue;
        }
        waiting *one = calloc(1, sizeof *one);
        if (!one) abort();
        one->descriptor = descriptor;
        one->due = now() + delay;
        **last = one;
        *last = &one->next;
    }
}

static void *serve(void *argument) {
    server server = *(struct server *)argument;
    free(argument);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, server.listener);
    waiting *first = NULL, **last = &first;
    struct epoll_event events[256];
    for (;;) {
        long left = first ? first->due - now() : -1;
        int count = epoll_wait(epoll, events, 256, first && left < 0 ? 0 : (int)left);
        take(epoll, server.listener, events, count, &last, server.delay);
        while (first && first->due <= now()) {
            waiting *one = first;
            first = one->next;
            if (!first) last = &first;
            send(one->descriptor, answer, sizeof answer - 1, MSG_NOSIGNAL);
            free(one);
        }
    }
    return NULL;
}

int fw_slow_server(int delay) {
    server *made = malloc(sizeof *made);
    if (!made) return -1;
    made->delay = delay;
    made->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;
    if (made->listener < 0 || bind(made->listener, (struct sockaddr *)&address, length) || listen(made->listener, 4096)
        || getsockname(made->listener, (struct sockaddr *)&address, &length)
        || pthread_create(&thread, NULL, serve, made)) {
        if (made->listener >= 0) close(made->listener);
        free(made);
        return -1;
    }
    pthread_detach(thread);
    return ntohs(address.sin_port);
}
