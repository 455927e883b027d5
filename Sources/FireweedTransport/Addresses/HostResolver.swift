// Name look-ups on a bounded number of threads.

import CLinux
import Glibc
import Synchronization

/// Looks up the addresses of hosts with getaddrinfo(3), which blocks, on threads of its own.
///
/// libcurl 7.88 starts a thread and opens two descriptors for each look-up: thousands of names of a name server that
/// does not answer take thousands of threads. Here the names wait in line for a thread. Everybody who asks for a name
/// that is being looked up shares the answer. A thread ends when no name waits.
final class HostResolver: Sendable {
    /// What a look-up gave.
    enum Outcome: Sendable, Equatable {
        /// The addresses as text, IPv6 ones without brackets, in the order in which they are to be tried (RFC 6724);
        /// never empty.
        case addresses([String])
        /// There is an address with a scope (RFC 4007 §11), which libcurl takes from its own look-up alone.
        case scoped
        /// The name has no address, or nobody knows; with the text of gai_strerror(3).
        case failed(String)
    }

    typealias Handler = @Sendable (Outcome) -> Void

    /// Somebody who waits for a host's addresses.
    struct Ticket: Sendable {
        fileprivate let host: String
        fileprivate let number: Int
    }

    private struct State {
        var handlers: [String: [Int: Handler]] = [:]
        /// The hosts whose look-up has not begun.
        var line: [String] = []
        var threadCount = 0
        var ticketCount = 0
    }

    /// The process's resolver.
    static let shared = HostResolver(threadLimit: 64, lookUp: lookUpInSystem)

    private let threadLimit: Int
    private let lookUp: @Sendable (String) -> Outcome
    private let state = Mutex(State())

    /// Makes a resolver with so many threads at most, and what each look-up does on one of them.
    init(threadLimit: Int, lookUp: @escaping @Sendable (String) -> Outcome) {
        self.threadLimit = threadLimit
        self.lookUp = lookUp
    }

    /// Looks up a host, soon; `handler` is called once, on a thread of the resolver, unless it is cancelled before.
    func lookUp(_ host: String, then handler: @escaping Handler) -> Ticket {
        let (ticket, needsThread) = state.withLock { state -> (Ticket, Bool) in
            state.ticketCount += 1
            let number = state.ticketCount
            let isNew = state.handlers[host] == nil
            state.handlers[host, default: [:]][number] = handler
            let needsThread = isNew && state.threadCount < threadLimit
            if isNew { state.line.append(host) }
            if needsThread { state.threadCount += 1 }
            return (Ticket(host: host, number: number), needsThread)
        }
        if needsThread { startThread() }
        return ticket
    }

    /// Forgets somebody who waits; a host that has no waiter leaves the line.
    func cancel(_ ticket: Ticket) {
        state.withLock { state in
            guard state.handlers[ticket.host]?.removeValue(forKey: ticket.number) != nil,
                state.handlers[ticket.host]?.isEmpty == true,
                let place = state.line.firstIndex(of: ticket.host)
            else { return }
            state.line.remove(at: place)
            state.handlers[ticket.host] = nil
        }
    }

    // MARK: Threads

    private func startThread() {
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, runResolver, Unmanaged.passRetained(self).toOpaque())
        guard status == 0 else {
            Unmanaged.passUnretained(self).release()
            return threadFailed(status)
        }
        pthread_detach(thread)
    }

    /// Without any thread nobody would look anything up.
    private func threadFailed(_ status: Int32) {
        let handlers = state.withLock { state -> [Handler] in
            state.threadCount -= 1
            guard state.threadCount == 0 else { return [] }
            defer { state.line.removeAll() }
            return state.line.flatMap { state.handlers.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
        }
        for handler in handlers { handler(.failed("no thread: \(String(cString: strerror(status)))")) }
    }

    fileprivate func run() {
        while let host = nextHost() {
            let outcome = lookUp(host)
            let handlers = state.withLock { $0.handlers.removeValue(forKey: host) ?? [:] }
            for handler in handlers.values { handler(outcome) }
        }
    }

    private func nextHost() -> String? {
        state.withLock { state in
            guard !state.line.isEmpty else {
                state.threadCount -= 1
                return nil
            }
            return state.line.removeFirst()
        }
    }
}

/// The addresses that the system knows of a host, of both families where there is IPv6 at all.
private func lookUpInSystem(_ host: String) -> HostResolver.Outcome {
    var hints = addrinfo()
    hints.ai_family = hasIPv6() ? AF_UNSPEC : AF_INET
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, nil, &hints, &first)
    guard status == 0 else { return .failed(String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(first) }
    var found: [String] = []
    var next = first
    while let entry = next?.pointee {
        next = entry.ai_next
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard
            getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        else { continue }
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if address.contains("%") { return .scoped }
        if !found.contains(address) { found.append(address) }
    }
    return found.isEmpty ? .failed("the name has no address") : .addresses(found)
}

/// Whether the kernel has sockets for IPv6.
private func hasIPv6() -> Bool {
    let descriptor = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
}

private func runResolver(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let owner else { return nil }
    pthread_setname_np(pthread_self(), "fireweed-names")
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
    Unmanaged<HostResolver>.fromOpaque(owner).takeRetainedValue().run()
    return nil
}
