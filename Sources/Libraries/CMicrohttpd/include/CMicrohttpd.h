// libmicrohttpd, opened at run time, and what Swift cannot call in it: its variadic start, with the options that the
// fixture server uses.
#pragma once
#if !__has_include(<microhttpd.h>)
#error "a header is missing: apt-get install libmicrohttpd-dev"
#endif
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

/// Opens the library, where no earlier call did; returns why it cannot be used, and NULL where it can.
///
/// Every other function needs a call of this one before, which returned NULL.
const char *_Nullable fw_open_microhttpd(void);

struct MHD_Daemon *_Nullable fw_start_daemon(
    int socket, unsigned int threads, void *_Nonnull owner, fw_access_function _Nonnull access,
    fw_target_function _Nonnull target, fw_completed_function _Nonnull completed,
    fw_connection_function _Nonnull connection, const char *_Nullable certificate, const char *_Nullable key);
enum MHD_Result fw_close_upgraded(struct MHD_UpgradeResponseHandle *_Nullable handle);

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
