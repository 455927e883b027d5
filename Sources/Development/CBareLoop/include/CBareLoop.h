// Bare C loops on epoll, on libcurl's multi interface and on sockets: what the benchmarks hold Fireweed against.
#pragma once

/// GETs `url` `count` times with `window` requests in flight over `connections` connections at most. The content is
/// gathered in memory, or written to `descriptor` when that is not negative, or dropped when `descriptor` is -2.
/// Returns how many requests failed, or -1 when libcurl could not be set up.
int fw_bare_loop(const char *_Nonnull url, int count, int window, int connections, int descriptor);

// GETs `path` from `port` on loopback `count` times over `connections` persistent connections, without an HTTP library:
// the least that the exchanges cost. Each connection has one request at a time. A request that waits for a connection
// costs nothing: the loop only counts what is left.
// Returns 0 when every response had status 200 and `content_length` bytes of content, else -1 at the first failure.
int fw_epoll_loop(int port, const char *_Nonnull path, int content_length, int count, int connections);

// Uploads files as the parts of a form, as `curl -F` does; returns libcurl's code, or -1 for a status other than 200.
int fw_bare_form(const char *_Nonnull url, const char *_Nonnull const *_Nonnull files, int count);

// Uploads the file as the content of a PUT; returns libcurl's code, or -1 for a status other than 200.
int fw_bare_upload(const char *_Nonnull url, const char *_Nonnull file);

// Starts a server that answers each request `delay` milliseconds after it came, on a thread that lives as long as the
// process. Returns its port, or -1.
int fw_slow_server(int delay);

// The first core that this process may run on, or -1.
int fw_first_core(void);

// Keeps the calling thread, and the threads that it starts from now on, on a core; returns 0, or -1 where that cannot
// be done.
int fw_stay_on_core(int core);
