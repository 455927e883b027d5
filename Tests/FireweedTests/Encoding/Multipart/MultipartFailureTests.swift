import Fireweed
import FixtureServer
import Foundation
import Testing

/// A file manager that says what a test wants.
private final class PretendingFileManager: FileManager, @unchecked Sendable {
    // SAFETY: its stored properties are constant.
    private let attributes: [FileAttributeKey: Any]?
    private let outputExists: Bool

    /// `nil` attributes make asking for them fail.
    init(attributes: [FileAttributeKey: Any]? = [:], outputExists: Bool = true) {
        self.attributes = attributes
        self.outputExists = outputExists
        super.init()
    }

    override func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] {
        guard let attributes else { throw CocoaError(.fileReadNoPermission) }
        return attributes
    }

    override func fileExists(atPath path: String) -> Bool { outputExists }

    override func createFile(
        atPath path: String, contents data: Data?, attributes: [FileAttributeKey: Any]? = nil
    ) -> Bool { true }
}

@Suite("Failures of forms")
struct MultipartFailureTests {
    let folder: TemporaryFolder
    let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("a.txt")
        try Data("content".utf8).write(to: file)
    }

    private func reason(_ body: () throws -> Void) -> AFError.MultipartEncodingFailureReason? {
        let error = #expect(throws: AFError.self, performing: body)
        guard case .multipartEncodingFailed(let reason) = error else { return nil }
        return reason
    }

    private func reason(
        _ fileManager: FileManager = .default, of append: (MultipartFormData) -> Void
    ) -> AFError.MultipartEncodingFailureReason? {
        let form = MultipartFormData(fileManager: fileManager)
        append(form)
        form.append(Data("later parts still work".utf8), withName: "later")
        let written = reason { try form.writeEncodedData(to: folder.file("out")) }
        #expect(!FileManager.default.fileExists(atPath: folder.file("out").path))
        #expect(
            "\(String(describing: written))".prefix(40)
                == "\(String(describing: reason { _ = try form.encode() }))".prefix(40))
        return written
    }

    @Test("parts that cannot be")
    func parts() throws {
        let web = try #require(URL(string: "https://h.example/a.txt"))
        guard
            case .bodyPartURLInvalid(web) = reason(of: { $0.append(web, withName: "f", fileName: "f", mimeType: "x/y") }
            )
        else {
            Issue.record("a URL that is no file's")
            return
        }
        let nameless = try #require(URL(string: "https://h.example"))
        guard case .bodyPartFilenameInvalid(nameless) = reason(of: { $0.append(nameless, withName: "f") }) else {
            Issue.record("a URL without a name")
            return
        }
        try Data("content".utf8).write(to: folder.file("README"))
        for name in ["README", ".profile", ""] {
            let file = folder.url.appendingPathComponent(name)
            guard case .bodyPartFilenameInvalid(file) = reason(of: { $0.append(file, withName: "f") }) else {
                Issue.record("\(name), a name without an extension")
                return
            }
        }
        let missing = folder.file("none.txt")
        guard
            case .bodyPartFileNotReachableWithError(missing, let absence) = reason(of: {
                $0.append(missing, withName: "f")
            })
        else {
            Issue.record("a missing file")
            return
        }
        #expect((absence as? POSIXError)?.code == .ENOENT)
        let below = file.appendingPathComponent("b.txt")
        guard
            case .bodyPartFileNotReachableWithError(below, let error) = reason(of: { $0.append(below, withName: "f") })
        else {
            Issue.record("a path through a file")
            return
        }
        #expect((error as? POSIXError)?.code == .ENOTDIR)
        guard
            case .bodyPartFileIsDirectory(folder.url) = reason(of: {
                $0.append(folder.url, withName: "f", fileName: "f", mimeType: "x/y")
            })
        else {
            Issue.record("a folder")
            return
        }
    }

    @Test("files without a size")
    func sizes() {
        guard
            case .bodyPartFileSizeNotAvailable(file) = reason(
                PretendingFileManager(), of: { $0.append(file, withName: "f") })
        else {
            Issue.record("no size")
            return
        }
        let failing = PretendingFileManager(attributes: nil)
        guard
            case .bodyPartFileSizeQueryFailedWithError(file, let error) = reason(
                failing, of: { $0.append(file, withName: "f") })
        else {
            Issue.record("no answer")
            return
        }
        #expect((error as? CocoaError)?.code == .fileReadNoPermission)
    }

    @Test("the first failure is the one that is thrown")
    func first() throws {
        let web = try #require(URL(string: "https://h.example/a.txt"))
        let found = reason { form in
            form.append(folder.file("none.txt"), withName: "f")
            form.append(web, withName: "f", fileName: "f", mimeType: "x/y")
        }
        guard case .bodyPartFileNotReachableWithError = found else {
            Issue.record("\(String(describing: found))")
            return
        }
    }

    @Test("a file that goes between append and encoding")
    func removed() throws {
        let form = MultipartFormData()
        form.append(file, withName: "f")
        try FileManager.default.removeItem(at: file)
        guard case .bodyPartInputStreamCreationFailed(file) = reason({ _ = try form.encode() }) else {
            Issue.record("no such reason")
            return
        }
    }

    @Test("a stream that has fewer bytes than was said")
    func lengths() throws {
        let form = MultipartFormData()
        form.append(
            InputStream(data: Data("content".utf8)), withLength: 100, name: "s", fileName: "s", mimeType: "x/y")
        guard case .inputStreamReadFailed(let error) = reason({ _ = try form.encode() }) else {
            Issue.record("no such reason")
            return
        }
        let length = try #require(error as? AFError.UnexpectedInputStreamLength)
        #expect(length.bytesExpected == 100 && length.bytesRead == 7)
    }

    @Test("a stream that cannot be read")
    func unreadable() {
        let form = MultipartFormData()
        form.append(
            InputStream(url: folder.file("none")) ?? InputStream(data: Data()), withLength: 1, name: "s", fileName: "s",
            mimeType: "x/y")
        guard case .inputStreamReadFailed = reason({ _ = try form.encode() }) else {
            Issue.record("no such reason")
            return
        }
    }

    @Test("outputs that cannot be written")
    func outputs() throws {
        let form = MultipartFormData()
        form.append(Data("a".utf8), withName: "f")
        let web = try #require(URL(string: "https://h.example/out"))
        guard case .outputStreamURLInvalid(web) = reason({ try form.writeEncodedData(to: web) }) else {
            Issue.record("a URL that is no file's")
            return
        }
        guard case .outputStreamFileAlreadyExists(file) = reason({ try form.writeEncodedData(to: file) }) else {
            Issue.record("a file that is there")
            return
        }
        let nowhere = folder.file("none").appendingPathComponent("out")
        guard case .outputStreamCreationFailed(nowhere) = reason({ try form.writeEncodedData(to: nowhere) }) else {
            Issue.record("a folder that is not there")
            return
        }
        let full = MultipartFormData(fileManager: PretendingFileManager(outputExists: false))
        full.append(Data(count: 1_000_000), withName: "f")
        guard
            case .outputStreamWriteFailed = reason({ try full.writeEncodedData(to: URL(fileURLWithPath: "/dev/full")) })
        else {
            Issue.record("a full disk")
            return
        }
    }

    @Test(
        "a form that cannot be made ends its request with the reason, in memory and streamed",
        arguments: [UInt64(0), .max])
    func upload(threshold: UInt64) async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let missing = folder.file("none.txt")
        let response = await session.upload(
            multipartFormData: { $0.append(missing, withName: "f") }, to: server.url("/parts"),
            usingThreshold: threshold
        ).serializingData().response
        #expect(server.connectionCount == 0)
        guard case .multipartEncodingFailed(.bodyPartFileNotReachableWithError(missing, _)) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
    }
}
