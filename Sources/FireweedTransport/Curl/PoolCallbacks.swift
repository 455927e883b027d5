// libcurl's calls about sockets and timers. All of them come on the loop's thread, from inside `curl_multi_…`.

import CCurl
import Glibc

/// The callbacks of a multi handle.
///
/// Their owner is the pool, unretained: it cleans the multi handle up before it goes.
enum PoolCallbacks {
    static func install(on multi: UnsafeMutableRawPointer, owner: UnsafeMutableRawPointer) {
        let codes = [
            fw_multi_set_socket(multi, socketChanged),
            fw_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, owner),
            fw_multi_set_timer(multi, timerChanged),
            fw_multi_set_pointer(multi, CURLMOPT_TIMERDATA, owner),
        ]
        precondition(codes.allSatisfy { $0 == CURLM_OK }, "libcurl refused a callback")
    }

    static func pool(_ owner: UnsafeMutableRawPointer) -> ConnectionPool {
        Unmanaged<ConnectionPool>.fromOpaque(owner).takeUnretainedValue()
    }
}

extension SocketReadiness {
    /// What libcurl waits for, by its `CURL_POLL_…`.
    init(curlPoll what: Int32) {
        self = []
        if what == CURL_POLL_IN || what == CURL_POLL_INOUT { insert(.readable) }
        if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { insert(.writable) }
    }
}

/// A socket as libcurl asks for it, which no program that is started inherits; -1 when there is none to be had.
func openSocket(for address: curl_sockaddr) -> Int32 {
    let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.`protocol`)
    if descriptor >= 0, address.family != AF_UNIX { KeepAlive.enable(on: descriptor) }
    return descriptor
}

/// libcurl waits for other events on a socket than before.
private func socketChanged(
    _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32, _ owner: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner else { return 0 }
    let pool = PoolCallbacks.pool(owner)
    pool.context.sockets.set(SocketReadiness(curlPoll: what), of: descriptor, for: pool)
    return 0
}

/// libcurl wants to be called in so many milliseconds; -1 takes that back.
private func timerChanged(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner else { return 0 }
    let pool = PoolCallbacks.pool(owner)
    // Never called back from here: libcurl must not be re-entered. The loop looks at deadlines before it sleeps.
    pool.engineDeadline = milliseconds < 0 ? nil : pool.context.now + UInt64(milliseconds) * 1_000_000
    return 0
}
