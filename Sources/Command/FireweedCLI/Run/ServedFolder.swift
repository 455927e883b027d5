// A folder that `fireweed serve` serves.

import Fireweed
import FixtureServer
import Foundation
import Glibc

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
        let type = MediaTypes.type(ofExtension: url.pathExtension)
        return FixtureResponse(
            fields: [("Content-Type", type)], body: .pieces(byteCount: file.byteCount) { file.piece($0) })
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

/// A file that is read while it is sent: it can be larger than memory.
private final class OpenFile: Sendable {
    let byteCount: Int
    private let descriptor: Int32
    private static let pieceSize = 256 * 1024

    /// `nil` for what is not a regular file, or cannot be read: a fifo would keep the server waiting.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        byteCount = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// The piece of a number; the end also where the file became shorter, which cuts the response.
    func piece(_ number: Int) -> FixtureResponse.Piece {
        let offset = number * Self.pieceSize
        guard offset < byteCount else { return .end }
        var bytes = [UInt8](repeating: 0, count: min(Self.pieceSize, byteCount - offset))
        let count = pread(descriptor, &bytes, bytes.count, off_t(offset))
        return count > 0 ? .bytes(Data(bytes.prefix(count))) : .end
    }
}
