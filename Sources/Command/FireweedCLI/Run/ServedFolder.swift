// A folder that `fireweed serve` serves.

import Fireweed
import FixtureServer
import Foundation

/// Answers with files of one folder, and with nothing from outside of it.
struct ServedFolder: Sendable {
    private let root: String

    /// Throws `OutputError` for what is not a folder.
    init(path: String) throws {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw OutputError(errorDescription: "\(path) is not a folder")
        }
        root = url.path
    }

    func response(to request: ReceivedRequest) -> FixtureResponse {
        guard ["GET", "HEAD"].contains(request.method) else {
            return .text("only GET and HEAD\n", status: 405, fields: [("Allow", "GET, HEAD")])
        }
        let url = URL(fileURLWithPath: root + "/" + request.path).resolvingSymlinksInPath()
        let isInside = url.path == root || url.path.hasPrefix(root == "/" ? "/" : root + "/")
        var isFolder: ObjCBool = false
        guard isInside, FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            return .text("not found\n", status: 404)
        }
        if isFolder.boolValue { return list(url, path: request.path) }
        guard let file = OpenFile(path: url.path) else { return .text("cannot be read\n", status: 403) }
        return ServedFile(file: file, type: MediaTypes.type(ofExtension: url.pathExtension)).response(to: request)
    }

    private func list(_ folder: URL, path: String) -> FixtureResponse {
        // Links of a list are relative: without the slash they would lead to the folder above.
        guard path.hasSuffix("/") else {
            let target = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "/"
            return FixtureResponse(status: 301, fields: [("Location", target + "/")])
        }
        if let data = try? Data(contentsOf: folder.appendingPathComponent("index.html")) {
            return FixtureResponse(fields: [("Content-Type", "text/html")], body: .data(data))
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return .text(names.sorted().map { $0 + "\n" }.joined())
    }
}
