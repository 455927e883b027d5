// A bare C loop on libcurl's multi interface and epoll: what the benchmarks hold Fireweed against.
#pragma once

/// GETs `url` `count` times with `window` requests in flight over `connections` connections at most. The content is gathered in
/// memory, or written to `descriptor` when that is not negative, or dropped when `descriptor` is -2.
/// Returns how many requests failed, or -1 when libcurl could not be set up.
int fw_bare_loop(const char *_Nonnull url, int count, int window, int connections, int descriptor);
