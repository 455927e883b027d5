// libcurl's calls about one transfer. All of them come on the loop's thread, from inside `curl_multi_…`.

import CCurl
import Glibc

/// The callbacks of an easy handle.
///
/// Their owner is its `EasyHandle`, unretained: the pool keeps it until the handle is cleaned up. The owner of
/// sockets is the pool, since connections outlive easy handles.
enum TransferCallbacks {
    static func install(on handle: EasyHandle) {
        let easy = handle.easy
        let owner = UnsafeRawPointer(Unmanaged.passUnretained(handle).toOpaque())
        let pool = UnsafeRawPointer(Unmanaged.passUnretained(handle.pool).toOpaque())
        for option in [
            CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
            CURLOPT_PREREQDATA, CURLOPT_RESOLVER_START_DATA, CURLOPT_OPENSOCKETDATA, CURLOPT_SSL_CTX_DATA,
            CURLOPT_DEBUGDATA,
        ] {
            handle.set(option, pointer: owner)
        }
        handle.set(CURLOPT_CLOSESOCKETDATA, pointer: pool)
        handle.check(fw_easy_set_data(easy, CURLOPT_HEADERFUNCTION, headerReceived))
        handle.check(fw_easy_set_data(easy, CURLOPT_WRITEFUNCTION, contentReceived))
        handle.check(fw_easy_set_data(easy, CURLOPT_READFUNCTION, contentWanted))
        handle.check(fw_easy_set_seek(easy, contentRewound))
        handle.check(fw_easy_set_prereq(easy, requestStarting))
        handle.check(fw_easy_set_resolve(easy, lookupStarting))
        handle.check(fw_easy_set_open(easy, socketWanted))
        handle.check(fw_easy_set_close(easy, socketUnwanted))
        handle.check(fw_easy_set_ssl_context(easy, tlsContextMade))
        handle.check(fw_easy_set_debug(easy, bytesCame))
        if handle.pool.settings.options.wireObserver != nil { handle.set(CURLOPT_VERBOSE, 1) }
    }
}

private func handle(_ owner: UnsafeMutableRawPointer) -> EasyHandle {
    Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
}

private func headerReceived(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer
) -> Int {
    // Called for every line: without the reference counting that `handle(_:)` costs.
    Unmanaged<EasyHandle>.fromOpaque(owner)._withUnsafeGuaranteedRef {
        $0.received(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
    }
}

private func contentReceived(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer
) -> Int {
    Unmanaged<EasyHandle>.fromOpaque(owner)._withUnsafeGuaranteedRef {
        switch $0.received(content: UnsafeRawBufferPointer(start: bytes, count: count)) {
        case .taken: count
        case .pause: Int(CURL_WRITEFUNC_PAUSE)
        case .abort: 0  // libcurl ends the transfer; the cause is already stored in it
        }
    }
}

private func contentWanted(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ owner: UnsafeMutableRawPointer
) -> Int {
    let handle = handle(owner)
    guard let transfer = handle.transfer, transfer.failure == nil else { return Int(CURL_READFUNC_ABORT) }
    guard transfer.pauses.isDisjoint(with: .suspended) else { return Int(CURL_READFUNC_PAUSE) }
    switch transfer.content.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) {
    case .bytes(let sent):
        handle.pool.didSend(sent, of: transfer)
        return sent
    case .end:
        handle.pool.didSendAll(of: transfer)
        return 0
    case .starved:
        transfer.pauses.insert(.contentStarved)
        return Int(CURL_READFUNC_PAUSE)
    case .failed(let error):
        transfer.failure = transfer.failure ?? .unreadableBody(error)
        return Int(CURL_READFUNC_ABORT)
    }
}

/// libcurl sends the content anew: a kept-alive connection had been closed by the peer, or a challenge has to be
/// answered.
private func contentRewound(_ owner: UnsafeMutableRawPointer, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    let handle = handle(owner)
    guard origin == SEEK_SET, let transfer = handle.transfer else { return CURL_SEEKFUNC_CANTSEEK }
    transfer.sentByteCount = Int64(offset)
    if transfer.requestContent == .whole { transfer.requestContent = .begun }
    return handle.rewindContent(of: transfer, to: Int(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

/// The transfer has its connection; the request leaves next.
private func requestStarting(
    _ owner: UnsafeMutableRawPointer, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
    _: Int32
) -> Int32 {
    let handle = handle(owner)
    guard handle.requestStarts() else { return CURL_PREREQFUNC_ABORT }
    guard handle.originJudge?.isSettled ?? true else { return CURL_PREREQFUNC_ABORT }
    return CURL_PREREQFUNC_OK
}

/// The transfer's own connection is being made: its idle time begins.
private func lookupStarting(
    _: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?, _ owner: UnsafeMutableRawPointer
) -> Int32 {
    handle(owner).touch()
    return 0
}

private func socketWanted(
    _ owner: UnsafeMutableRawPointer, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>
) -> curl_socket_t {
    let handle = handle(owner)
    guard handle.mayStart() else { return fw_socket_bad }
    handle.touch()
    guard handle.allowsConnection(to: address) else { return fw_socket_bad }
    let descriptor = openSocket(for: address.pointee)
    if descriptor >= 0 {
        handle.pool.context.sockets.didOpen(descriptor)
        OpenedSocket(descriptor).map { socket in
            handle.openedSockets.append(socket)
            handle.pool.sockets.didOpen(socket, origin: handle.transfer?.queue?.origin ?? "")
            handle.pool.watchdog?.didOpen(socket)
        }
    }
    return descriptor
}

private func socketUnwanted(_ owner: UnsafeMutableRawPointer, _ descriptor: curl_socket_t) -> Int32 {
    let pool = PoolCallbacks.pool(owner)
    pool.context.sockets.willClose(descriptor)
    pool.watchdog?.willClose(descriptor)
    pool.framing.forget(descriptor)
    pool.sockets.willClose(descriptor)
    return close(descriptor)
}

/// A TLS handshake is about to begin, with this transfer's host or its proxy.
private func tlsContextMade(
    _: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer, _ owner: UnsafeMutableRawPointer
) -> CURLcode {
    handle(owner).prepareTLS(context)
}

/// Bytes as they came on the connection, for handles that were told to show them.
private func bytesCame(
    _: UnsafeMutableRawPointer, _ type: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>, _ count: Int,
    _ owner: UnsafeMutableRawPointer
) -> Int32 {
    let (owner, bytes) = (handle(owner), UnsafeRawBufferPointer(start: bytes, count: count))
    if type == CURLINFO_DATA_IN {
        owner.noteCodedContent(bytes)
    } else if let observer = owner.pool.settings.options.wireObserver {
        switch type {
        case CURLINFO_HEADER_OUT: observer.didSend(head: Array(bytes))
        case CURLINFO_TEXT: observer.didNote(String(decoding: bytes, as: UTF8.self))
        default: break
        }
    }
    return 0
}
