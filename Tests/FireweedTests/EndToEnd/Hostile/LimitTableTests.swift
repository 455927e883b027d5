// The table of limits in the documentation, held to the code.

import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedTransport

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
    private static func rows() throws -> [String] { try transportRows() + contentRows() + storeRows() }

    private static func transportRows() -> [String] {
        let options = TransportOptions()
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
            row(
                "content codings of a response", "``TransportOptions/maximumContentCodingCount``",
                number(options.maximumContentCodingCount), "`URLError.cannotDecodeContentData`"),
            row(
                "the window of Zstandard content", "none", bytes(1 << ZstandardStream.maximumWindowBits),
                "`URLError.cannotDecodeContentData`"),
            row(
                "the head of a request", "none", bytes(HTTP1RequestWriter.maximumHeadByteCount),
                "`URLError.dataLengthExceedsMaximum`"),
        ]
    }

    private static func contentRows() -> [String] {
        let configuration = URLSessionConfiguration.af.default
        let socket = WebSocketRequest.Configuration.default
        return [
            // `FailureTests` has a test of the number.
            row(
                "redirects of an attempt", "`maximumRedirectCount` of `SessionOptions`",
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
        ]
    }

    private static func storeRows() throws -> [String] {
        let folder = try TemporaryFolder()
        let store = try SQLiteResponseStore(url: folder.file("responses.sqlite"))
        return [
            row("name and value of a cookie", "none", bytes(SetCookie.maximumByteCount), "the cookie is ignored"),
            row(
                "cookies of a domain", "none", number(CookieIndex.maximumCountOfDomain),
                "expired cookies go, then the oldest"),
            row(
                "cookies of a storage", "none", number(CookieIndex.maximumCount),
                "expired cookies go, then the oldest"),
            row(
                "responses of a ``SQLiteResponseStore``", "`maximumByteCount`", bytes(store.maximumByteCount),
                "those that were used longest ago go"),
            row(
                "one response of a ``SQLiteResponseStore``", "an eighth of `maximumByteCount`",
                "\(Double(store.maximumEntryByteCount) / Double(1 << 20)) MiB", "the response is not stored"),
            row(
                "responses of a ``SQLiteResponseStore`` for one URL", "none",
                number(SQLiteResponseStore.variantLimit), "those that were used longest ago go"),
            row(
                "hosts of a ``StrictTransportSecurity``", "`maximumHostCount`",
                number(StrictTransportSecurity().maximumHostCount), "those that end first go"),
        ]
    }

    @Test("the table in the documentation has the defaults of the code")
    func table() throws {
        let found = try Self.rows().joined(separator: "\n")
        if let output = ProcessInfo.processInfo.environment["LIMIT_TABLE"] {
            try found.write(toFile: output, atomically: true, encoding: .utf8)
        }
        let file = Repository.root.appending(path: "Sources/Fireweed/Fireweed.docc/Articles/Security.md")
        let documentation = try String(contentsOf: file, encoding: .utf8)
        #expect(documentation.contains(found), "the table is now:\n\(found)")
    }
}
