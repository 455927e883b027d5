// libmicrohttpd, opened when the first server starts.
//
// It brings GnuTLS and seven more libraries. A program that is linked with them would load them at each start, and the
// command starts servers for `fireweed serve` alone. So the functions of libmicrohttpd are defined here, for the
// program's own use, and call what dlsym(3) has found.
#pragma GCC visibility push(hidden)
#include "CMicrohttpd.h"
#pragma GCC visibility pop
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define FUNCTIONS(F)                                                                                                   \
    F(add_response_header)                                                                                             \
    F(create_post_processor)                                                                                           \
    F(create_response_for_upgrade)                                                                                     \
    F(create_response_from_buffer)                                                                                     \
    F(create_response_from_callback)                                                                                   \
    F(destroy_post_processor)                                                                                          \
    F(destroy_response)                                                                                                \
    F(digest_auth_check2)                                                                                              \
    F(digest_auth_get_username)                                                                                        \
    F(free)                                                                                                            \
    F(get_connection_values)                                                                                           \
    F(post_process)                                                                                                    \
    F(queue_auth_fail_response2)                                                                                       \
    F(queue_response)                                                                                                  \
    F(resume_connection)                                                                                               \
    F(start_daemon)                                                                                                    \
    F(stop_daemon)                                                                                                     \
    F(suspend_connection)                                                                                              \
    F(upgrade_action)

#define MEMBER(name) __typeof__(&MHD_##name) name;
static struct { FUNCTIONS(MEMBER) } library;
static const char *failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
    void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        failure = dlerror();  // valid until this thread's next dlerror
        failure = failure ? strdup(failure) : "libmicrohttpd.so.12 cannot be opened";
        return;
    }
#define FIND(name)                                                                                                     \
    if (!(library.name = (__typeof__(library.name))dlsym(handle, "MHD_" #name)))                                       \
        failure = "libmicrohttpd.so.12 has no MHD_" #name;
    FUNCTIONS(FIND)
}

const char *fw_open_microhttpd(void) {
    pthread_once(&once, open_library);
    return failure;
}

struct MHD_Daemon *fw_start_daemon(int socket, unsigned int threads, void *owner, fw_access_function access,
                                   fw_target_function target, fw_completed_function completed,
                                   fw_connection_function connection, const char *certificate, const char *key) {
    // Without TLS none of these options is read: the array ends before.
    struct MHD_OptionItem tls[] = {
        {certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        // TLS 1.0 and 1.1 are deprecated (RFC 8996).
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"},
        {MHD_OPTION_END, 0, NULL},
    };
    return library.start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | (certificate ? MHD_USE_TLS : 0), 0,
        NULL, NULL, (MHD_AccessHandlerCallback)access, owner,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, 20000u,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)128 * 1024, MHD_OPTION_URI_LOG_CALLBACK, target, owner,
        MHD_OPTION_NOTIFY_COMPLETED, completed, owner, MHD_OPTION_NOTIFY_CONNECTION, connection, owner,
        // libmicrohttpd does not notice the end of some clients that leave in the middle of a request.
        MHD_OPTION_CONNECTION_TIMEOUT, 300u, MHD_OPTION_NONCE_NC_SIZE, 1000u, MHD_OPTION_DIGEST_AUTH_RANDOM, (size_t)8, "fireweed", MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
}

enum MHD_Result fw_close_upgraded(struct MHD_UpgradeResponseHandle *handle) {
    return library.upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *header, const char *content) {
    return library.add_response_header(response, header, content);
}

struct MHD_PostProcessor *MHD_create_post_processor(struct MHD_Connection *connection, size_t size,
                                                    MHD_PostDataIterator iterator, void *owner) {
    return library.create_post_processor(connection, size, iterator, owner);
}

struct MHD_Response *MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *owner) {
    return library.create_response_for_upgrade(handler, owner);
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode mode) {
    return library.create_response_from_buffer(size, buffer, mode);
}

struct MHD_Response *MHD_create_response_from_callback(uint64_t size, size_t block, MHD_ContentReaderCallback reader,
                                                       void *owner, MHD_ContentReaderFreeCallback release) {
    return library.create_response_from_callback(size, block, reader, owner, release);
}

enum MHD_Result MHD_destroy_post_processor(struct MHD_PostProcessor *processor) {
    return library.destroy_post_processor(processor);
}

void MHD_destroy_response(struct MHD_Response *response) { library.destroy_response(response); }

int MHD_digest_auth_check2(struct MHD_Connection *connection, const char *realm, const char *username,
                           const char *password, unsigned int nonce_timeout, enum MHD_DigestAuthAlgorithm algorithm) {
    return library.digest_auth_check2(connection, realm, username, password, nonce_timeout, algorithm);
}

char *MHD_digest_auth_get_username(struct MHD_Connection *connection) {
    return library.digest_auth_get_username(connection);
}

void MHD_free(void *pointer) { library.free(pointer); }

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                              MHD_KeyValueIterator iterator, void *owner) {
    return library.get_connection_values(connection, kind, iterator, owner);
}

enum MHD_Result MHD_post_process(struct MHD_PostProcessor *processor, const char *data, size_t count) {
    return library.post_process(processor, data, count);
}

enum MHD_Result MHD_queue_auth_fail_response2(struct MHD_Connection *connection, const char *realm, const char *opaque,
                                              struct MHD_Response *response, int signal_stale,
                                              enum MHD_DigestAuthAlgorithm algorithm) {
    return library.queue_auth_fail_response2(connection, realm, opaque, response, signal_stale, algorithm);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                                   struct MHD_Response *response) {
    return library.queue_response(connection, status, response);
}

void MHD_resume_connection(struct MHD_Connection *connection) { library.resume_connection(connection); }

void MHD_stop_daemon(struct MHD_Daemon *daemon) { library.stop_daemon(daemon); }

void MHD_suspend_connection(struct MHD_Connection *connection) { library.suspend_connection(connection); }
