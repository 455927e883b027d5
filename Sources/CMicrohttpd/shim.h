// What Swift cannot call in libmicrohttpd: its variadic start, with the options that the fixture server uses.
#pragma once
#include <microhttpd.h>
#include <stddef.h>
#include <sys/socket.h>

typedef enum MHD_Result (*fw_access_function)(void *_Nonnull owner, struct MHD_Connection *_Nonnull connection,
                                              const char *_Nonnull url, const char *_Nonnull method,
                                              const char *_Nonnull version, const char *_Nullable data,
                                              size_t *_Nonnull count, void *_Nullable *_Nonnull exchange);
typedef void *_Nullable (*fw_target_function)(void *_Nonnull owner, const char *_Nonnull target,
                                              struct MHD_Connection *_Nonnull connection);
typedef void (*fw_completed_function)(void *_Nonnull owner, struct MHD_Connection *_Nonnull connection,
                                      void *_Nullable *_Nonnull exchange, enum MHD_RequestTerminationCode code);
typedef void (*fw_connection_function)(void *_Nonnull owner, struct MHD_Connection *_Nonnull connection,
                                       void *_Nullable *_Nonnull context, enum MHD_ConnectionNotificationCode code);

static inline struct MHD_Daemon *_Nullable fw_start_daemon(
    int socket, unsigned int threads, void *_Nonnull owner, fw_access_function _Nonnull access,
    fw_target_function _Nonnull target, fw_completed_function _Nonnull completed,
    fw_connection_function _Nonnull connection, const char *_Nullable certificate, const char *_Nullable key) {
    // Without TLS the two last options are not read: the array ends before them.
    struct MHD_OptionItem tls[] = {
        {certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | (certificate ? MHD_USE_TLS : 0), 0,
        NULL, NULL, (MHD_AccessHandlerCallback)access, owner,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, 20000u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)128 * 1024, MHD_OPTION_URI_LOG_CALLBACK, target, owner,
        MHD_OPTION_NOTIFY_COMPLETED, completed, owner, MHD_OPTION_NOTIFY_CONNECTION, connection, owner,
        MHD_OPTION_NONCE_NC_SIZE, 1000u, MHD_OPTION_DIGEST_AUTH_RANDOM, (size_t)8, "fireweed", MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
}
static inline enum MHD_Result fw_close_upgraded(struct MHD_UpgradeResponseHandle *_Nullable handle) {
    return MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

// Macros that Swift does not see.
static const ssize_t fw_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t fw_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

// Cases of closed enumerations, whose names Swift would cut in ways that depend on their neighbours.
static const enum MHD_Result fw_yes = MHD_YES;
static const enum MHD_Result fw_no = MHD_NO;
static const int fw_invalid_nonce = MHD_INVALID_NONCE;
static const enum MHD_DigestAuthAlgorithm fw_digest_md5 = MHD_DIGEST_ALG_MD5;
static const enum MHD_DigestAuthAlgorithm fw_digest_sha256 = MHD_DIGEST_ALG_SHA256;
static const enum MHD_ResponseMemoryMode fw_must_copy = MHD_RESPMEM_MUST_COPY;
static const enum MHD_ValueKind fw_header_kind = MHD_HEADER_KIND;
static const enum MHD_RequestTerminationCode fw_completed_ok = MHD_REQUEST_TERMINATED_COMPLETED_OK;
static const enum MHD_ConnectionNotificationCode fw_connection_started = MHD_CONNECTION_NOTIFY_STARTED;
