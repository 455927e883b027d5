import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Files in forms", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FormFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func encoded(_ file: URL) throws -> String {
        let form = MultipartFormData()
        form.append(file, withName: "file", fileName: "a", mimeType: "text/plain")
        return String(decoding: try form.encode(), as: UTF8.self)
    }

    @Test("a symbolic link is sent as the file behind it")
    func link() throws {
        let file = folder.file("file")
        try Data("the whole content".utf8).write(to: file)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: "file")
        let relative = folder.file("again")
        try FileManager.default.createSymbolicLink(at: relative, withDestinationURL: folder.file("link"))
        for url in [folder.file("link"), relative] {
            #expect(try encoded(url).contains("\r\n\r\nthe whole content\r\n"))
        }
    }

    @Test(
        "a file of the kernel whose size is not that of its content is sent whole",
        arguments: ["/proc/version", "/sys/kernel/uevent_seqnum"])
    func kernelFile(path: String) throws {
        let file = URL(fileURLWithPath: path)
        let text = String(decoding: try FileHandle(forReadingFrom: file).contentToEnd(), as: UTF8.self)
        #expect(!text.isEmpty)
        #expect(try encoded(file).contains("\r\n\r\n\(text)\r\n"))
    }

    /// A form with a file that changes after it was appended, as a server gets it, or the error.
    private func sent(_ first: String, then second: String) async throws -> (String?, AFError?) {
        let server = try FixtureServer.start()
        let file = folder.file("changing")
        try Data(first.utf8).write(to: file)
        let form = MultipartFormData()
        form.append(file, withName: "file", fileName: "a", mimeType: "text/plain")
        try Data(second.utf8).write(to: file)
        let session = Session.isolated()
        let response = await session.upload(multipartFormData: form, to: server.url("/parts"), usingThreshold: 0)
            .serializingString().response
        withExtendedLifetime(session) {}
        return (response.value, response.error)
    }

    @Test("a file that grows after it was appended is sent up to its announced length")
    func growing() async throws {
        for (first, second) in [("abc", "abcdef"), ("", "abcdef")] {
            let (text, error) = try await sent(first, then: second)
            let counts = text?.matches(of: /"byteCount" ?: ?(\d+)/).map { String($0.1) }
            #expect(error == nil && counts == ["\(first.count)"])
        }
    }

    @Test("a file that shrinks after it was appended is an error with both lengths")
    func shrinking() async throws {
        let (_, error) = try await sent("abcdef", then: "abc")
        #expect(error?.localizedDescription.contains("3 bytes were read where 6 were announced") == true)
    }

    @Test("a file that is replaced by a longer one is an error, and not cut off")
    func replaced() throws {
        let (file, other) = (folder.file("first"), folder.file("other"))
        try Data("abc".utf8).write(to: file)
        let form = MultipartFormData()
        form.append(file, withName: "f", fileName: "f", mimeType: "text/plain")
        #expect(try form.encode() == form.encode())
        try Data("abcdef".utf8).write(to: other)
        #expect(rename(other.path, file.path) == 0)
        let error = #expect(throws: AFError.self) { try form.encode() }
        #expect(error?.localizedDescription.contains("6 bytes were read where 3 were announced") == true)
    }

    @Test("a pipe and a device, which have no length, are errors, and nothing waits for them")
    func withoutLength() throws {
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: pipe)
        for url in [pipe, link, URL(fileURLWithPath: "/dev/zero")] {
            let error = #expect(throws: AFError.self) { try encoded(url) }
            #expect(error?.isMultipartEncodingError == true)
        }
    }
}
