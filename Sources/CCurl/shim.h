// What Swift cannot call in libcurl: its variadic functions, one typed shim for each kind of argument.
#pragma once
#include <curl/curl.h>

// The type-checking macros of <curl/curl.h> would refuse these generic forwards.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static inline CURLcode fw_easy_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fw_easy_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fw_easy_set_pointer(CURL *_Nonnull easy, CURLoption option, const void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fw_easy_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode fw_easy_set_list(CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
typedef size_t (*fw_write_function)(char *_Nonnull bytes, size_t size, size_t count, void *_Nullable owner);
static inline CURLcode fw_easy_set_write(CURL *_Nonnull easy, CURLoption option, fw_write_function _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode fw_easy_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode fw_easy_get_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode fw_easy_get_pointer(CURL *_Nonnull easy, CURLINFO info, void *_Nullable *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode fw_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode fw_multi_set_pointer(CURLM *_Nonnull multi, CURLMoption option, const void *_Nullable value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode fw_multi_set_socket(CURLM *_Nonnull multi, curl_socket_callback _Nonnull function) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}
static inline CURLMcode fw_multi_set_timer(CURLM *_Nonnull multi, curl_multi_timer_callback _Nonnull function) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}
