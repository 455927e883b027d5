#define _GNU_SOURCE
#include "CBareLoop.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// What every connection sends, and what has to come back.
typedef struct {
    char request[256];
    int request_length;
    char length_field[64];  // in the letter case of nginx
    size_t content_length;
} exchange;

// One request at a time, and the bytes of its response so far: head and content fit.
typedef struct {
    int descriptor;
    size_t count;
    char bytes[4096];
} connection;

enum outcome { INCOMPLETE, COMPLETE, FAILED };

static int send_request(connection *connection, const exchange *exchange) {
    connection->count = 0;
    ssize_t sent = send(connection->descriptor, exchange->request, exchange->request_length, MSG_NOSIGNAL);
    return sent == exchange->request_length ? 0 : -1;
}

static int open_connection(connection *connection, int port, int epoll) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(connection->descriptor, (struct sockaddr *)&address, sizeof address)
        || epoll_ctl(epoll, EPOLL_CTL_ADD, connection->descriptor, &event);
}

// A response is complete with status 200 and exactly the content that is expected.
static enum outcome check(const connection *connection, const exchange *exchange) {
    const char *end = memmem(connection->bytes, connection->count, "\r\n\r\n", 4);
    if (!end) return INCOMPLETE;
    size_t head = end + 4 - connection->bytes;
    if (strncmp(connection->bytes, "HTTP/1.1 200 ", 13)) return FAILED;
    if (!memmem(connection->bytes, head, exchange->length_field, strlen(exchange->length_field))) return FAILED;
    size_t content = connection->count - head;
    return content < exchange->content_length ? INCOMPLETE : content == exchange->content_length ? COMPLETE : FAILED;
}

// Takes the bytes that came. The end of the connection is a failure, and so is a response that does not fit: without
// room, recv(2) returns 0.
static enum outcome receive(connection *connection, const exchange *exchange) {
    size_t room = sizeof connection->bytes - connection->count;
    ssize_t got = recv(connection->descriptor, connection->bytes + connection->count, room, 0);
    if (got <= 0) return FAILED;
    connection->count += got;
    return check(connection, exchange);
}

int fw_epoll_loop(int port, const char *path, int content_length, int count, int connections) {
    exchange exchange = {.content_length = content_length};
    exchange.request_length = snprintf(
        exchange.request, sizeof exchange.request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", path, port);
    snprintf(exchange.length_field, sizeof exchange.length_field, "\r\nContent-Length: %d\r\n", content_length);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    connection *all = calloc(connections, sizeof *all);
    int opened = 0, started = 0, ended = 0;
    int failed = epoll < 0 || !all || exchange.request_length >= (int)sizeof exchange.request;
    for (; opened < connections && !failed; opened++) {
        failed = open_connection(&all[opened], port, epoll);
        if (!failed && started < count) {
            failed = send_request(&all[opened], &exchange);
            started++;
        }
    }
    struct epoll_event events[256];
    while (ended < count && !failed) {
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready && !failed; i++) {
            connection *connection = events[i].data.ptr;
            enum outcome outcome = receive(connection, &exchange);
            failed = outcome == FAILED;
            if (outcome != COMPLETE) continue;
            ended++;
            if (started < count) {
                failed = send_request(connection, &exchange);
                started++;
            }
        }
    }
    for (int i = 0; i < opened; i++) {
        if (all[i].descriptor >= 0) close(all[i].descriptor);
    }
    free(all);
    if (epoll >= 0) close(epoll);
    return failed ? -1 : 0;
}
