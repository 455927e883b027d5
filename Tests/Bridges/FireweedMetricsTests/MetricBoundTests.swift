// Limits of the labels of metrics.

import Fireweed
import FireweedMetrics
import FixtureServer
import Foundation
import MetricsTestKit
import Testing

@Suite("Limits of labels", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MetricBoundTests {
    private let stage = MetricsStage()

    /// Sends messages by a transport, without a session.
    private func send(
        _ messages: [RequestMessage], _ change: (inout MetricsOptions) -> Void = { _ in },
        answer: @escaping @Sendable (RequestMessage) -> ResponseHead = { _ in ResponseHead(status: 204, fields: []) }
    ) async {
        let transport = MetricsTransport(
            ScriptedTransport { [.head(answer($0))] }, options: stage.options(change))
        for message in messages { transport.makeTransfer(of: message, for: Ignoring()).start(.undecided) }
        await stage.ended(messages.count)
        transport.shutDown()
    }

    private func addresses(of dimensions: [[(String, String)]]) -> Set<String> {
        Set(
            dimensions.map { labels in
                labels.filter { $0.0.hasPrefix("server.") }.map(\.1).joined(separator: ":")
            })
    }

    @Test("of ten thousand hosts, one hundred have labels of their own")
    func hosts() async {
        await send((0..<10_000).map { RequestMessage(url: "https://host\($0).test/") })
        #expect(addresses(of: stage.durations.map(\.dimensions)).count == 101)
        #expect(addresses(of: stage.factory.meters.map(\.dimensions)).count == 101)
        #expect(stage.durations.count == 101 && stage.active.count == 101)
        let other = stage.durations.first { $0.dimensions.contains { $0 == ("server.address", "_OTHER") } }
        #expect(other?.values.count == 9900)
        #expect(other?.dimensions.first { $0.0 == "server.port" }?.1 == "0")
        #expect(stage.values(of: "server.address").count { $0 == "host7.test" } == 1)
    }

    @Test("a host with two ports is two addresses; its case and its userinfo make none")
    func ports() async {
        await send(
            ["http://a.test/", "http://u:p@A.TEST:80/x", "http://a.test:81/"].map { RequestMessage(url: $0) })
        #expect(addresses(of: stage.durations.map(\.dimensions)) == ["a.test:80", "a.test:81"])
    }

    @Test("of many templates, one hundred have labels of their own")
    func templates() async {
        let messages = (0..<1000).map { number in
            var message = RequestMessage(url: "https://a.test/")
            var values = RequestValues()
            values[URLTemplateKey.self] = "/\(number)"
            message.owner = MessageOwner(requestID: UUID(), values: values)
            return message
        }
        await send(messages + [RequestMessage(url: "https://a.test/")])
        // One hundred, all others, and none.
        #expect(Set(stage.values(of: "url.template")).count == 102)
    }

    @Test("methods are eleven at most")
    func methods() async {
        await send((0..<1000).map { RequestMessage(url: "https://a.test/", method: "M\($0)") })
        #expect(stage.values(of: "http.request.method") == Array(repeating: "_OTHER", count: 1000))
    }

    @Test("the statuses and versions of one server leave half of the series to the others")
    func hostileServer() async {
        let hostile = (0..<2_000).map { RequestMessage(url: "https://a.test/\($0)") }
        await send(hostile + [RequestMessage(url: "https://b.test/")]) {
            $0.seriesLimit = 50
        } answer: { message in
            let number = Int(message.url.drop { !$0.isNumber }) ?? 0
            let isHostile = message.url.hasPrefix("https://a")
            return ResponseHead(
                status: isHostile ? 100 + number % 900 : 200, version: "HTTP/1.\(number / 900)", fields: [])
        }
        #expect(stage.values(of: "server.address").count { $0 == "b.test" } == 1)
        #expect(Set(stage.values(of: "network.protocol.version")).isSubset(of: ["1.0", "1.1", "_OTHER"]))
        #expect(stage.durations.count <= 27)
    }

    @Test("statuses that no response can have are one")
    func invalidStatuses() async {
        await send((600..<700).map { RequestMessage(url: "https://a.test/\($0)") }) { _ in
        } answer: {
            ResponseHead(status: Int($0.url.suffix(3)) ?? 0, fields: [])
        }
        #expect(stage.values(of: "http.response.status_code") == Array(repeating: "_OTHER", count: 100))
        #expect(stage.durations.count == 1)
    }

    @Test("redirects use up half of the addresses")
    func redirects() async {
        let redirected = (0..<200).map { number in
            var message = RequestMessage(url: "https://host\(number).test/")
            message.owner = MessageOwner(requestID: UUID(), values: RequestValues())
            message.owner?.messageNumber = 1
            return message
        }
        await send(redirected + [RequestMessage(url: "https://b.test/")])
        #expect(addresses(of: stage.durations.map(\.dimensions)).count == 52)
        #expect(stage.values(of: "server.address").count { $0 == "b.test" } == 1)
    }

    @Test("a metric has no more series than its limit, and one for the rest")
    func series() async {
        let messages = (0..<200).map { number in
            RequestMessage(url: "https://host\(number % 50).test/", method: number % 2 == 0 ? "GET" : "PUT")
        }
        await send(messages) { $0.seriesLimit = 10 }
        #expect(stage.durations.count <= 11 && stage.active.count <= 11)
        #expect(stage.durations.reduce(0) { $0 + $1.values.count } == 200)
        #expect(stage.active.allSatisfy { $0.lastValue == 0 })
        for (metric, names) in stage.labelNames { #expect(names.count == 1, "\(metric): \(names)") }
    }
}

/// Wants nothing.
private final class Ignoring: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
    func transferDidFinish(_ end: consuming TransferEnd) {}
}
