import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

@Suite("Temporary files of ended processes")
struct TemporaryFoldersTests {
    let folder: TemporaryFolder
    private static let current = ProcessIdentity.current

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The identities of this process with one part changed: machine, boot, namespace, number or start.
    private func changed(_ index: Int, to text: String) throws -> ProcessIdentity {
        var parts = Self.current.text.split(separator: "/").map(String.init)
        parts[index] = text
        return try #require(ProcessIdentity(parts.joined(separator: "/")))
    }

    @Test("an identity is read as it was written, and this process lives")
    func identity() {
        #expect(ProcessIdentity(Self.current.text) == Self.current)
        #expect(!Self.current.hasEnded)
        for text in ["", "a/b/c/1", "m/a/b/x/d", "m/a/b/1/2/3"] { #expect(ProcessIdentity(text) == nil) }
    }

    @Test("a process is known to have ended by its start, its number or the machine's start")
    func ended() throws {
        #expect(try changed(4, to: "1").hasEnded)  // the number was used again
        #expect(try changed(3, to: "\(Int32.max)").hasEnded)
        #expect(try changed(1, to: "another-boot").hasEnded)
        #expect(try !changed(2, to: "pid:[1]").hasEnded)  // another container's processes cannot be seen
        #expect(try !changed(0, to: "another-machine").hasEnded)
        let text = Self.current.text.split(separator: "/").dropFirst(2).joined(separator: "/")
        #expect(try !#require(ProcessIdentity("another-machine/another-boot/\(text)")).hasEnded)
    }

    @Test("beside a target, files of killed processes go, and files of other programs stay")
    func siblings() throws {
        let target = folder.file("name").path
        let left = folder.file(".name.0123456789abcdef.part")
        let others = [".name.0123456789abcdeg.part", ".name.my-own-notes-16.part", ".name.0123456789abcdef.part2"]
        for file in others.map({ folder.file($0) }) + [left] { try Data("x".utf8).write(to: file) }
        let (sibling, descriptor) = try SiblingFile.make(beside: target, mode: 0o600)
        let (second, other) = try SiblingFile.make(beside: target, mode: 0o600)
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder.url.path))
        #expect(names == Set(others + [sibling.lastPathComponent, second.lastPathComponent]))
        close(descriptor)
        close(other)
    }

    @Test("the files of ended processes go; those of living ones, taken ones and foreign folders stay")
    func sweep() throws {
        let dead = try changed(3, to: "\(Int32.max)")
        func place(of process: ProcessIdentity) throws -> URL {
            let place = try TemporaryFolders.newPath(in: folder.url, of: process)
            try Data("x".utf8).write(to: place)
            return place
        }
        let (left, taken, own) = (try place(of: dead), try place(of: dead), try place(of: .current))
        TemporaryFolders.keep(taken)
        let foreign = folder.file("fireweed-of-somebody")
        try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: false)
        TemporaryFolders.removeAbandoned(in: folder.url)
        let exists = { (file: URL) in FileManager.default.fileExists(atPath: file.path) }
        #expect(!exists(left.deletingLastPathComponent()))
        #expect(exists(taken) && exists(own) && exists(foreign))
        TemporaryFolders.leave(taken)
        #expect(exists(taken), "a folder with a file in it stays")
    }

    @Test("a file of a process that cannot be seen stays until nothing has changed there for ten days")
    func foreignMachine() throws {
        let stranger = try changed(0, to: "another-machine")
        let (old, young) = (
            try TemporaryFolders.newPath(in: folder.url, of: stranger),
            try TemporaryFolders.newPath(in: folder.url, of: stranger)
        )
        for place in [old, young] { try Data("x".utf8).write(to: place) }
        let date = Date(timeIntervalSinceNow: -11 * 86_400)
        for file in [old, old.deletingLastPathComponent(), young.deletingLastPathComponent()] {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        TemporaryFolders.removeAbandoned(in: folder.url)
        #expect(!FileManager.default.fileExists(atPath: old.deletingLastPathComponent().path))
        #expect(FileManager.default.fileExists(atPath: young.path), "it was written to")
    }
}
