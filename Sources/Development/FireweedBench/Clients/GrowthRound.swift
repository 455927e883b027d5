// Requests whose cost is counted with many sessions, hosts, fields or connections.

import CBareLoop
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking

/// Sends requests for `Scripts/count`, which runs a round with two counts and takes the difference.
struct GrowthRound {
    enum Kind: String {
        /// With 300 or 1,200 other, idle sessions in the process.
        case sessions300 = "sessions-300"
        case sessions1200 = "sessions-1200"
        /// To 300 or 3,000 hosts one after the other, more than the idle connections that a session keeps: every
        /// request connects.
        case origins300 = "origins-300"
        case origins3000 = "origins-3000"
        /// With three additional fields of usual length, or fifty short fields.
        case fields3 = "fields-3"
        case fields50 = "fields-50"
        /// With responses from the cache in memory.
        case cached
        /// With content in the response, from the URL that the caller chooses.
        case body
        /// With an event monitor for no events, for completions and metrics, or for all events.
        case monitorNone = "monitor-none"
        case monitorSome = "monitor-some"
        case monitorAll = "monitor-all"
        /// All requests at once, each over a separate connection.
        case dials
        /// All requests at once, over the usual number of connections.
        case burst
    }

    let kind: Kind
    let url: URL
    let count: Int

    func run() async throws {
        switch kind {
        case .sessions300: try await beside(sessions: 300)
        case .sessions1200: try await beside(sessions: 1200)
        case .origins300: try await inTurn(hosts: 300)
        case .origins3000: try await inTurn(hosts: 3000)
        case .fields3:
            let fields: HTTPHeaders = [
                "Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
                "Accept": "application/json",
                "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ]
            try await send(Session()) { _ in (url, fields) }
        case .fields50:
            let fields = HTTPHeaders((0..<50).map { HTTPHeader(name: "X-Field-\($0)", value: "value \($0)") })
            try await send(Session()) { _ in (url, fields) }
        case .cached:
            let configuration = URLSessionConfiguration.af.default
            configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
            let session = Session(configuration: configuration)
            _ = try await session.request(url).serializingData().value
            try await send(session) { _ in (url, nil) }
        case .body: try await send(Session()) { _ in (url, nil) }
        case .monitorNone: try await send(Session(eventMonitors: [SilentMonitor(events: [])])) { _ in (url, nil) }
        case .monitorSome:
            try await send(Session(eventMonitors: [SilentMonitor(events: [.completion, .metrics])])) { _ in (url, nil) }
        case .monitorAll: try await send(Session(eventMonitors: [SilentMonitor(events: .all)])) { _ in (url, nil) }
        case .dials: try await dial()
        case .burst: try await sendAtOnce(Session(), url)
        }
    }

    private func beside(sessions: Int) async throws {
        var options = TransportOptions()
        options.maximumIdleConnections = 0
        let others = (0..<sessions).map { _ in Session(transportOptions: options) }
        for session in others { _ = try await session.request(url).serializingData().value }
        try await send(Session()) { _ in (url, nil) }
        withExtendedLifetime(others) {}
    }

    private func inTurn(hosts: Int) async throws {
        var options = TransportOptions()
        let urls = (0..<hosts).compactMap { number in
            options.addressOverrides["host-\(number).test"] = ["127.0.0.1"]
            return URL(string: "http://host-\(number).test:\(url.port ?? 80)\(url.path)")
        }
        try await send(Session(transportOptions: options)) { (urls[$0 % hosts], nil) }
    }

    /// Sends requests one after the other.
    private func send(_ session: Session, _ request: (Int) -> (URL, HTTPHeaders?)) async throws {
        for number in 0..<count {
            let (url, fields) = request(number)
            _ = try await session.request(url, headers: fields).serializingData().value
        }
    }

    /// A monitor that implements no method.
    private struct SilentMonitor: EventMonitor {
        let queue = DispatchQueue(label: "monitor")
        let events: MonitoredEvents
    }

    private func dial() async throws {
        let port = fw_slow_server(3_000)
        guard port > 0, let url = URL(string: "http://127.0.0.1:\(port)") else { throw RoundError(text: "no server") }
        let configuration = URLSessionConfiguration.af.default
        configuration.httpMaximumConnectionsPerHost = count
        try await sendAtOnce(Session(configuration: configuration), url)
    }

    private func sendAtOnce(_ session: Session, _ url: URL) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await session.request(url).serializingData().value } }
            try await group.waitForAll()
        }
    }
}
