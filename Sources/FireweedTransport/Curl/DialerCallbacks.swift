// libcurl's calls about a dialer. All of them come on the loop's thread, from inside `curl_…`.

import CCurl
import Glibc

/// The callbacks of a dialer's handles.
///
/// Their owner is the dialer, unretained: it cleans both handles up before it goes.
enum DialerCallbacks {
    static func install(on dialer: SocketDialer, multi: UnsafeMutableRawPointer) {
        let owner = UnsafeRawPointer(Unmanaged.passUnretained(dialer).toOpaque())
        for option in [
            CURLOPT_OPENSOCKETDATA, CURLOPT_CLOSESOCKETDATA, CURLOPT_SSL_CTX_DATA, CURLOPT_RESOLVER_START_DATA,
        ] {
            dialer.set(option, pointer: owner)
        }
        let easy = dialer.easy
        dialer.check(fw_easy_set_data(easy, CURLOPT_WRITEFUNCTION, contentIgnored))
        dialer.check(fw_easy_set_data(easy, CURLOPT_HEADERFUNCTION, contentIgnored))
        dialer.check(fw_easy_set_open(easy, socketWanted))
        dialer.check(fw_easy_set_close(easy, socketUnwanted))
        dialer.check(fw_easy_set_ssl_context(easy, tlsContextMade))
        let codes = [
            fw_multi_set_socket(multi, socketChanged),
            fw_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, owner),
            fw_multi_set_timer(multi, timerChanged),
            fw_multi_set_pointer(multi, CURLMOPT_TIMERDATA, owner),
        ]
        precondition(codes.allSatisfy { $0 == CURLM_OK }, "libcurl refused a callback")
    }
}

private func dialer(_ owner: UnsafeMutableRawPointer) -> SocketDialer {
    Unmanaged<SocketDialer>.fromOpaque(owner).takeUnretainedValue()
}

/// What a proxy says around its answer to CONNECT.
private func contentIgnored(
    _: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _: UnsafeMutableRawPointer
) -> Int {
    size * count
}

private func socketWanted(
    _ owner: UnsafeMutableRawPointer, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>
) -> curl_socket_t {
    let dialer = dialer(owner)
    dialer.touched()
    guard dialer.allowsConnection(to: address) else { return fw_socket_bad }
    let descriptor = openSocket(for: address.pointee)
    if descriptor >= 0 { dialer.context.sockets.didOpen(descriptor) }
    return descriptor
}

private func socketUnwanted(_ owner: UnsafeMutableRawPointer, _ descriptor: curl_socket_t) -> Int32 {
    dialer(owner).context.sockets.willClose(descriptor)
    return close(descriptor)
}

private func tlsContextMade(
    _: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer, _ owner: UnsafeMutableRawPointer
) -> CURLcode {
    dialer(owner).prepareTLS(context)
}

/// libcurl waits for other events on a socket than before.
private func socketChanged(
    _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32, _ owner: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner else { return 0 }
    let dialer = dialer(owner)
    dialer.context.sockets.set(SocketReadiness(curlPoll: what), of: descriptor, for: dialer)
    return 0
}

/// libcurl wants to be called in so many milliseconds; -1 takes that back.
private func timerChanged(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ owner: UnsafeMutableRawPointer?) -> Int32
{
    guard let owner else { return 0 }
    dialer(owner).setTimer(milliseconds: milliseconds)
    return 0
}
