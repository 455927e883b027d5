// What Swift cannot call in libcurl: its variadic functions, one typed shim for each kind of argument.
#pragma once
#include <curl/curl.h>
#include <stdint.h>

// The type-checking macros of <curl/curl.h> would refuse these generic forwards.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

// Macros that Swift does not see.
static const curl_socket_t fw_socket_timeout = CURL_SOCKET_TIMEOUT;
static const curl_socket_t fw_socket_bad = CURL_SOCKET_BAD;
static const long fw_auth_basic = (long)CURLAUTH_BASIC;
static const long fw_auth_digest = (long)CURLAUTH_DIGEST;
static const long fw_auth_ntlm = (long)CURLAUTH_NTLM;
static const long fw_auth_negotiate = (long)CURLAUTH_NEGOTIATE;

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
// The callbacks, with the pointers marked that libcurl never passes as null.
typedef size_t (*fw_data_function)(char *_Nonnull bytes, size_t size, size_t count, void *_Nonnull owner);
typedef int (*fw_seek_function)(void *_Nonnull owner, curl_off_t offset, int origin);
typedef curl_socket_t (*fw_open_function)(void *_Nonnull owner, curlsocktype purpose,
                                          struct curl_sockaddr *_Nonnull address);
typedef int (*fw_close_function)(void *_Nonnull owner, curl_socket_t descriptor);
typedef int (*fw_prereq_function)(void *_Nonnull owner, char *_Nullable remote, char *_Nullable local,
                                  int remote_port, int local_port);
typedef int (*fw_resolve_function)(void *_Nullable state, void *_Nullable reserved, void *_Nonnull owner);
typedef int (*fw_debug_function)(CURL *_Nonnull easy, curl_infotype type, char *_Nonnull bytes, size_t count,
                                 void *_Nonnull owner);
typedef CURLcode (*fw_ssl_context_function)(CURL *_Nonnull easy, void *_Nonnull context, void *_Nonnull owner);

static inline CURLcode fw_easy_set_data(CURL *_Nonnull easy, CURLoption option, fw_data_function _Nonnull function) {
    return curl_easy_setopt(easy, option, function);
}
static inline CURLcode fw_easy_set_seek(CURL *_Nonnull easy, fw_seek_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}
static inline CURLcode fw_easy_set_open(CURL *_Nonnull easy, fw_open_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}
static inline CURLcode fw_easy_set_close(CURL *_Nonnull easy, fw_close_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}
static inline CURLcode fw_easy_set_prereq(CURL *_Nonnull easy, fw_prereq_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}
static inline CURLcode fw_easy_set_resolve(CURL *_Nonnull easy, fw_resolve_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, function);
}
static inline CURLcode fw_easy_set_ssl_context(CURL *_Nonnull easy, fw_ssl_context_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}
static inline CURLcode fw_easy_set_debug(CURL *_Nonnull easy, fw_debug_function _Nonnull function) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
}
static inline CURLcode fw_easy_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull bytes,
                                        size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
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

static inline CURLcode fw_easy_get_socket(CURL *_Nonnull easy, curl_socket_t *_Nonnull value) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}

// Everything that a finished transfer tells of itself, in one call.
typedef struct {
    int64_t name_lookup, connect, app_connect, pre_transfer, start_transfer, total;
    int64_t uploaded, downloaded;
    long header_bytes, request_bytes, connects, http_version, local_port, remote_port, os_error, verify_result;
    const char *_Nullable local_address;
    const char *_Nullable remote_address;
} fw_report;

static inline void fw_easy_get_report(CURL *_Nonnull easy, fw_report *_Nonnull report) {
    curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &report->name_lookup);
    curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &report->connect);
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &report->app_connect);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &report->pre_transfer);
    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &report->start_transfer);
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &report->total);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &report->uploaded);
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &report->downloaded);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &report->header_bytes);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &report->request_bytes);
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &report->connects);
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &report->http_version);
    curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &report->local_port);
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &report->remote_port);
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &report->os_error);
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &report->verify_result);
    curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &report->local_address);
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &report->remote_address);
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

static inline CURLSHcode fw_share_sessions(CURLSH *_Nonnull share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}
// Told to libcurl for proxies, so that their `SSL_CTX` can be known from the origins'.
static const long fw_proxy_mark = CURLSSLOPT_ALLOW_BEAST;
