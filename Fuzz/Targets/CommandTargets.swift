// Commands for a shell, read and written.

import Fireweed
import FireweedTransport
import Foundation
import FoundationNetworking

extension FuzzTarget {
    static let curlCommand = FuzzTarget("curl-command") { bytes in
        guard let request = try? URLRequest(cURL: bytes.text) else { return }
        guard let url = request.url, let host = url.host else {
            throw FuzzFailure(description: "a command has a URL with a host")
        }
        try expect(!host.isEmpty, "a command has a host")
        let method = request.httpMethod ?? ""
        // Fields and methods that must not be sent are refused when the request is made.
        let texts = [method, url.absoluteString] + request.headers.flatMap { [$0.name, $0.value] }
        let isSound =
            method.isToken && request.headers.allSatisfy { $0.name.isToken }
            && texts.allSatisfy(\.staysInLine)
        guard isSound else { return }
        let command = request.cURLDescription()
        // Control characters are written by the shell's `printf`, which we do not read.
        guard !command.contains("printf '") else { return }
        let again: URLRequest
        do {
            again = try URLRequest(cURL: command)
        } catch {
            throw FuzzFailure(description: "a command that we write can be read: \(error)\n\(command)")
        }
        try expectEqual(again.httpMethod, request.httpMethod, "the method survives being written")
        try expectEqual(again.url?.absoluteString, url.absoluteString, "the URL survives being written")
        try expectEqual(again.httpBody ?? Data(), request.httpBody ?? Data(), "content survives being written")
        let fields = { (request: URLRequest) in request.headers.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        }
        try expectEqual(fields(again), fields(request), "fields survive being written")
    }

    /// Words, with a NUL between two of them.
    static let shellWords = FuzzTarget("shell-words") { bytes in
        _ = try? ShellWords.tokens(of: bytes.text)
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false).map(\.text)
        let forms: [(String) -> String] = [ShellText.word, ShellText.quoted]
        for form in forms {
            let command = words.map(form).joined(separator: " \\\n\t")
            // Control characters are written by the shell's `printf`, which we do not read.
            guard !command.contains("$(printf '") else { continue }
            let tokens = try ShellWords.tokens(of: command)
            try expectEqual(tokens, words.map { .word(Array($0.utf8)) }, "no word is lost")
        }
    }
}
