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
