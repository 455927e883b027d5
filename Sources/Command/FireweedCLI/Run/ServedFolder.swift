// A folder that `fireweed serve` serves.

import Fireweed
import FixtureServer
import Foundation
import Glibc

/// A receiver that discards content, so that it takes no memory.
private final class DiscardedContent: ContentReceiver {
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
        if let file = request.receiver as? UploadedFile { return file.finish(at: Self.encoded(request.path)) }
        let url = URL(fileURLWithPath: root + "/" + request.path).resolvingSymlinksInPath()
        let isInside = url.path == root || url.path.hasPrefix(root == "/" ? "/" : root + "/")
        var isFolder: ObjCBool = false
        let isPartial = url.lastPathComponent.hasPrefix(UploadFolder.partialPrefix)
        guard isInside, !isPartial, FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            return .text("not found\n", status: 404)
        }
        if isFolder.boolValue { return list(url, request) }
        // The slash names a folder, and relative links in a page at such a URL would lead elsewhere.
        guard !request.path.hasSuffix("/") else { return .text("not found\n", status: 404) }
        guard let file = OpenFile(path: url.path) else { return .text("cannot be read\n", status: 403) }
        return ServedFile(file: file, type: MediaTypes.type(ofExtension: url.pathExtension)).response(to: request)
    }

    private static func encoded(_ path: String) -> String {
        path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "/"
    }

    /// Returns the names in a folder, as a page of links for browsers and as lines for other clients; or the folder's
    /// `index.html`, if it has one.
    private func list(_ folder: URL, _ request: ReceivedRequest) -> FixtureResponse {
        // The links are relative: without the slash they would lead to the parent folder.
        guard request.path.hasSuffix("/") else {
            return FixtureResponse(status: 301, fields: [("Location", Self.encoded(request.path) + "/")])
        }
        if let data = try? Data(contentsOf: folder.appendingPathComponent("index.html")) {
            return FixtureResponse(fields: [("Content-Type", "text/html")], body: .data(data))
        }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
            .filter { !$0.hasPrefix(UploadFolder.partialPrefix) }.sorted().map { name in
                var isFolder: ObjCBool = false
                let isThere = FileManager.default.fileExists(atPath: "\(folder.path)/\(name)", isDirectory: &isFolder)
                return isThere && isFolder.boolValue ? name + "/" : name
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
