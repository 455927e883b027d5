// A folder that `fireweed serve` serves.

import Fireweed
import FireweedTesting
import FixtureEndpoints
import Foundation
import Glibc

/// A receiver that discards content, so that it takes no memory.
final class DiscardedContent: ContentReceiver {
    func take(_ bytes: UnsafeRawBufferPointer) {}
}

/// Answers with files of one folder, and with nothing from outside of it.
struct ServedFolder: Sendable {
    private let root: String
    /// The folder for new files; `nil` without `--uploads`.
    private let uploads: UploadFolder?

    /// Makes the answers for a folder; throws `OutputError` if the path is not a folder.
    ///
    /// An upload may have `uploadLimit` bytes; `nil` accepts no uploads.
    init(path: String, uploadLimit: Int? = nil) throws {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw OutputError(errorDescription: "\(path) is not a folder")
        }
        root = url.path
        uploads = uploadLimit.map { UploadFolder(root: url.path, limit: $0) }
    }

    /// Returns the receiver of a request's content, or a refusal.
    ///
    /// Methods that are not supported are refused before their content arrives.
    func reception(of request: ReceivedRequest) -> Reception {
        guard Self.hasDescriptor else { return .refused(.text("too many files are open\n", status: 503)) }
        switch request.method {
        case "GET", "HEAD": return .receiver(DiscardedContent())
        case "PUT":
            if let uploads { return uploads.reception(of: request) }
        default: break
        }
        let methods = uploads == nil ? "GET and HEAD" : "GET, HEAD and PUT"
        return .refused(
            .text(
                "only \(methods)\n", status: 405, fields: [("Allow", methods.replacing(" and", with: ","))]))
    }

    /// Whether another file can be opened; if not, files would seem unreadable, and folders empty or missing.
    private static var hasDescriptor: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    func response(to request: ReceivedRequest) -> FixtureResponse {
        if let file = request.receiver as? UploadedFile { return file.finish(at: Self.location(request.path)) }
        guard let entry = entry(at: root + "/" + request.path) else { return .text("not found\n", status: 404) }
        if entry.isFolder {
            // The links of a page are relative: without the slash they would lead to the parent folder.
            guard request.path.hasSuffix("/") else {
                let query = request.target.firstIndex(of: "?").map { request.target[$0...] } ?? ""
                let location = "\(Self.location(request.path))/\(query)"
                return FixtureResponse(status: 301, fields: [("Location", location)])
            }
            guard let index = self.entry(at: entry.path + "/index.html"), !index.isFolder else {
                return list(entry.path, request)
            }
            return file(index, request)
        }
        // The slash names a folder, and relative links in a page at such a URL would lead elsewhere.
        return request.path.hasSuffix("/") ? .text("not found\n", status: 404) : file(entry, request)
    }

    /// What is at a path, after following symbolic links; `nil` for nothing, and for what is not in the folder.
    private func entry(at path: String) -> (path: String, isFolder: Bool)? {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let isInside = url.path == root || url.path.hasPrefix(root == "/" ? "/" : root + "/")
        var isFolder: ObjCBool = false
        let isPartial = url.lastPathComponent.hasPrefix(UploadFolder.partialPrefix)
        guard isInside, !isPartial, FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            return nil
        }
        return (url.path, isFolder.boolValue)
    }

    private func file(_ entry: (path: String, isFolder: Bool), _ request: ReceivedRequest) -> FixtureResponse {
        guard let file = OpenFile(path: entry.path) else { return .text("cannot be read\n", status: 403) }
        let type = MediaTypes.type(ofExtension: URL(fileURLWithPath: entry.path).pathExtension)
        return ServedFile(file: file, type: type).response(to: request)
    }

    private static func encoded(_ path: String) -> String {
        path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "/"
    }

    /// Returns a path as a reference to this server: two slashes at its beginning would name another host (RFC 3986
    /// §4.2).
    private static func location(_ path: String) -> String { "/" + encoded(String(path.drop { $0 == "/" })) }

    /// Returns the names in a folder, as a page of links for browsers and as lines for other clients.
    private func list(_ folder: String, _ request: ReceivedRequest) -> FixtureResponse {
        guard let found = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return .text("cannot be read\n", status: 403)
        }
        let names = found.sorted().compactMap { name in
            entry(at: "\(folder)/\(name)").map { $0.isFolder ? name + "/" : name }
        }
        let fields = [(name: "Vary", value: "Accept")]
        guard request.field("Accept")?.contains("text/html") == true else {
            return .text(names.map { $0 + "\n" }.joined(), fields: fields)
        }
        let links = (request.path == "/" ? [] : ["../"]) + names
        let items = links.map {
            "<li><a href=\"\(Self.escaped("./" + Self.encoded($0)))\">\(Self.escaped($0))</a></li>\n"
        }
        let title = Self.escaped(request.path)
        let page = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>\(title)</title>\n<ul>\n\(items.joined())</ul>\n"
        return .text(page, type: "text/html; charset=utf-8", fields: fields)
    }

    /// Escapes text for HTML and its attributes.
    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
