// The table of limits in the documentation, held to the code.

import Fireweed
import Foundation
import Testing

@Suite("Documented limits")
struct LimitTableTests {
    /// One row: what is limited, by which setting, its default, and what a request fails with.
    private static func row(_ what: String, _ setting: String, _ value: String, _ failure: String) -> String {
        "| \(what) | \(setting) | \(value) | \(failure) |"
    }

    private static func number(_ value: Int) -> String {
        String(
            String(value).reversed().enumerated().flatMap { $0 > 0 && $0 % 3 == 0 ? [",", $1] : [$1] }.reversed())
    }

    private static func bytes(_ count: Int) -> String {
        if count % (1 << 20) == 0 { return "\(count >> 20) MiB" }
        return count % (1 << 10) == 0 ? "\(count >> 10) KiB" : number(count)
    }

    private static func refusal(_ refusal: TransferRefusal) -> String {
        "`TransferRefusal.\("\(Mirror(reflecting: refusal).children.first?.label ?? "?")")`"
    }

    /// The rows, of the defaults as the code has them.
    private static func rows() -> [String] {
        let options = TransportOptions()
        let configuration = URLSessionConfiguration.af.default
        let socket = WebSocketRequest.Configuration.default
        return [
            row(
                "bytes of heads and trailers", "``TransportOptions/maximumHeaderByteCount``",
                bytes(options.maximumHeaderByteCount), refusal(.headerBytes(limit: 0))),
            row(
                "fields of a head or trailer section", "``TransportOptions/maximumHeaderFieldCount``",
                number(options.maximumHeaderFieldCount), refusal(.headerFields(limit: 0))),
            row(
                "interim responses", "``TransportOptions/maximumInterimResponseCount``",
                number(options.maximumInterimResponseCount), refusal(.interimResponses(limit: 0))),
            row(
                "content after decoding", "``TransportOptions/maximumBodyByteCount``",
                options.maximumBodyByteCount.map(bytes) ?? "none", refusal(.bodyBytes(limit: 0))),
            row(
                "growth by decoding, beyond 16 MiB", "``TransportOptions/maximumExpansionRatio``",
                options.maximumExpansionRatio.map { "\($0)-fold" } ?? "none", refusal(.expansion(limit: 0))),
            row(
                "bytes that are neither fields nor content", "``TransportOptions/maximumFramingByteCount``",
                bytes(options.maximumFramingByteCount), refusal(.framingBytes(limit: 0))),
            // `FailureTests` has a test of the number.
            row(
                "redirects of an attempt", "`maximumRedirectCount` of `Session.init`",
                "20", "`URLError.httpTooManyRedirects`"),
            row(
                "parts of a form", "``MultipartFormData/maximumPartCount``",
                number(MultipartFormData().maximumPartCount), "`MultipartFormDataError.tooManyParts`"),
            row(
                "a line of `lines()` and `jsonLines(of:)`", "`maximumLineByteCount`",
                bytes(DataStreamRequest.defaultMaximumLineByteCount), "`StreamedContentError.lineTooLong`"),
            row(
                "a server-sent event", "`maximumEventByteCount`",
                bytes(DataStreamRequest.defaultMaximumEventByteCount), "`StreamedContentError.eventTooLong`"),
            row(
                "content of an error that a stream keeps", "none",
                bytes(DataStreamRequest.maximumErrorContentByteCount), "the rest is left out"),
            row(
                "a message of a WebSocket", "`maximumMessageSize`", bytes(socket.maximumMessageSize),
                "`URLError.dataLengthExceedsMaximum`"),
            row(
                "connections of a session to a host", "`httpMaximumConnectionsPerHost`",
                number(configuration.httpMaximumConnectionsPerHost), "requests wait"),
            row(
                "hosts of a ``StrictTransportSecurity``", "`maximumHostCount`",
                number(StrictTransportSecurity().maximumHostCount), "those that end first go"),
        ]
    }

    @Test("the table in the documentation has the defaults of the code")
    func table() throws {
        let found = Self.rows().joined(separator: "\n")
        if let output = ProcessInfo.processInfo.environment["LIMIT_TABLE"] {
            try found.write(toFile: output, atomically: true, encoding: .utf8)
        }
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/Fireweed/Fireweed.docc/Articles/Security.md").standardized
        let documentation = try String(contentsOf: file, encoding: .utf8)
        #expect(documentation.contains(found), "the table is now:\n\(found)")
    }
}
