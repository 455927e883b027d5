#include "CBareLoop.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

// One request at a time; its handle goes from request to request.
typedef struct {
    CURL *easy;
    char *content;
    size_t count, room;
    int descriptor;
} slot;

typedef struct {
    int epoll;
    long deadline;  // milliseconds of the monotonic clock, or -1
} loop;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static size_t received(char *bytes, size_t size, size_t count, void *owner) {
    slot *slot = owner;
    if (slot->descriptor == -2) return count;
    if (slot->descriptor >= 0) return write(slot->descriptor, bytes, count) == (ssize_t)count ? count : 0;
    if (slot->count + count > slot->room) {
        size_t room = (slot->count + count) * 2;
        char *content = realloc(slot->content, room);
        if (!content) return 0;
        slot->content = content;
        slot->room = room;
    }
    memcpy(slot->content + slot->count, bytes, count);
    slot->count += count;
    return count;
}

static int socket_changed(CURL *easy, curl_socket_t descriptor, int what, void *owner, void *known) {
    loop *loop = owner;
    struct epoll_event event = {0};
    event.data.fd = descriptor;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, descriptor, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, descriptor, &event)) epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &event);
    return 0;
}

static int timer_changed(CURLM *multi, long milliseconds, void *owner) {
    ((loop *)owner)->deadline = milliseconds < 0 ? -1 : now() + milliseconds;
    return 0;
}

int fw_bare_loop(const char *url, int count, int window, int connections, int descriptor) {
    loop loop = {epoll_create1(EPOLL_CLOEXEC), -1};
    CURLM *multi = curl_multi_init();
    slot *slots = calloc(window, sizeof(slot));
    if (loop.epoll < 0 || !multi || !slots) {
        free(slots);
        if (multi) curl_multi_cleanup(multi);
        if (loop.epoll >= 0) close(loop.epoll);
        return -1;
    }
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &loop);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &loop);
    int started = 0, ended = 0, failed = 0, running = 0, waiting = 0;
    for (; started < window && started < count; started++) {
        slot *slot = &slots[started];
        slot->easy = curl_easy_init();
        slot->descriptor = descriptor;
        curl_easy_setopt(slot->easy, CURLOPT_URL, url);
        curl_easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(slot->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(slot->easy, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(slot->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, received);
        curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot);
        curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
        curl_multi_add_handle(multi, slot->easy);
    }
    struct epoll_event events[256];
    while (ended < count) {
        long wait = loop.deadline < 0 ? 1000 : loop.deadline - now();
        int ready = epoll_wait(loop.epoll, events, 256, wait > 0 ? (int)wait : 0);
        for (int i = 0; i < ready; i++) {
            int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                | (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(multi, events[i].data.fd, mask, &running);
        }
        if (loop.deadline >= 0 && loop.deadline <= now()) {
            loop.deadline = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &waiting))) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            if (message->data.result != CURLE_OK) failed++;
            ended++;
            curl_multi_remove_handle(multi, easy);
            if (started < count) {
                slot *slot;
                curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
                slot->count = 0;
                curl_multi_add_handle(multi, easy);
                started++;
            }
        }
    }
    for (int i = 0; i < window && slots[i].easy; i++) {
        curl_easy_cleanup(slots[i].easy);
        free(slots[i].content);
    }
    free(slots);
    curl_multi_cleanup(multi);
    close(loop.epoll);
    return failed;
}

static size_t discard_answer(char *bytes, size_t size, size_t count, void *owner) {
    (void)bytes;
    (void)owner;
    return size * count;
}

int fw_bare_form(const char *url, const char *const *files, int count) {
    CURL *easy = curl_easy_init();
    curl_mime *form = curl_mime_init(easy);
    for (int index = 0; index < count; index++) {
        curl_mimepart *part = curl_mime_addpart(form);
        curl_mime_name(part, "file");
        curl_mime_filedata(part, files[index]);
    }
    long status = 0;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, form);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard_answer);
    int code = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    curl_mime_free(form);
    return code != 0 ? code : status == 200 ? 0 : -1;
}

static size_t wanted(char *bytes, size_t size, size_t count, void *owner) {
    ssize_t got = read(*(int *)owner, bytes, size * count);
    return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

int fw_bare_upload(const char *url, const char *file) {
    int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    long status = 0;
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)lseek(descriptor, 0, SEEK_END));
    lseek(descriptor, 0, SEEK_SET);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, wanted);
    curl_easy_setopt(easy, CURLOPT_READDATA, &descriptor);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard_answer);
    int code = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    close(descriptor);
    return code != 0 ? code : status == 200 ? 0 : -1;
}
