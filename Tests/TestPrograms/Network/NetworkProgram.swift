// Watches the network, or makes a request, inside the namespace that a test starts it in.

import Fireweed
import Foundation
import FoundationNetworking

/// Prints a line for each thing that happens: nanoseconds since 1970, then what happened.
///
/// - `network get "URL …"` requests each URL and prints its content, or the code of the failure.
/// - `network watch [HOST]` prints each status.
/// - `network retry URL [SECONDS]` makes a request with an `OfflineRetrier` that waits so long; two minutes by default.
/// - `network pooled URL` makes a request whose response does not end, one whose response does not begin, and one that
///   leaves an idle connection; when the first two are over, another one.
/// - `network wait URL [SECONDS]` makes a request of a session that waits for connectivity, so long in all.
struct NetworkProgram {
    private let arguments: [String]

    init(_ arguments: [String]) {
        self.arguments = arguments
    }

    func run() async throws {
        let seconds = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 120
        switch (arguments.first, arguments.dropFirst().first) {
        case ("get", let urls?): await get(urls.split(separator: " ").map(String.init))
        case ("watch", let host): await watch(host)
        case ("retry", let url?): await retry(url, seconds: seconds)
        case ("pooled", let url?): await pooled(url)
        case ("wait", let url?): await wait(url, seconds: seconds)
        default: exit(64)
        }
    }

    private func get(_ urls: [String]) async {
        var options = TransportOptions()
        options.proxy = Proxy.none
        let session = Session(configuration: .af.ephemeral, transportOptions: options)
        for url in urls {
            let response = await session.request(url).serializingString().response
            Self.say(response.value ?? "failed \((response.error?.underlyingError as? URLError)?.code.rawValue ?? 0)")
        }
    }

    private func pooled(_ url: String) async {
        let session = Session(configuration: .af.ephemeral)
        let outcome: @Sendable (String, AFDataResponse<String>) -> Void = { path, response in
            let code = (response.error?.underlyingError as? URLError)?.code.rawValue
            Self.say("\(path) \(code.map(String.init) ?? response.value ?? "")")
        }
        let others = DispatchGroup()
        await withCheckedContinuation { begun in
            others.enter()
            session.request(url + "endless").onHTTPResponse { _ in begun.resume() }.responseString { response in
                outcome("endless", response)
                others.leave()
            }
        }
        outcome("first", await session.request(url + "first").serializingString().response)
        others.enter()
        // On the connection of the first request, so that the message may be sent again.
        session.request(url + "waiting").responseString { response in
            outcome("waiting", response)
            others.leave()
        }
        outcome("idle", await session.request(url + "idle").serializingString().response)
        await withCheckedContinuation { done in others.notify(queue: .global()) { done.resume() } }
        outcome("last", await session.request(url + "last").serializingString().response)
    }

    private func watch(_ host: String?) async {
        let manager = host.map { NetworkReachabilityManager(host: $0) } ?? NetworkReachabilityManager()
        guard let manager else { exit(64) }
        for await status in manager.statuses() { Self.say("\(status)") }
    }

    private func retry(_ url: String, seconds: Int) async {
        let monitor = ClosureEventMonitor()
        monitor.requestIsRetrying = { _ in Self.say("retrying") }
        monitor.taskDidComplete = { _, _, error in Self.say("attempt \((error as? URLError)?.code.rawValue ?? 0)") }
        let session = Session(
            configuration: .af.ephemeral, interceptor: OfflineRetrier.offlineRetrier(maximumWait: .seconds(seconds)),
            eventMonitors: [monitor])
        await request(url, of: session)
    }

    private func wait(_ url: String, seconds: Int) async {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForResource = TimeInterval(seconds)
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.taskIsWaitingForConnectivity = { _, _ in Self.say("waiting") }
        await request(
            url,
            of: Session(
                configuration: configuration, eventMonitors: [monitor],
                options: SessionOptions(waitsForConnectivity: true)))
    }

    private func request(_ url: String, of session: Session) async {
        Self.say("started")
        let response = await session.request(url).serializingData().response
        Self.say(response.error.map { "failed \(($0.underlyingError as? URLError)?.code.rawValue ?? 0)" } ?? "done")
    }

    private static func say(_ text: String) {
        let nanoseconds = UInt64(Date().timeIntervalSince1970 * 1e9)
        FileHandle.standardOutput.write(Data("\(nanoseconds) \(text)\n".utf8))
    }
}
