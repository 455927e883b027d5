// Unfinished files beside their destination.

import FireweedTransport
import Foundation
import Glibc

/// Makes files under hidden names beside their destination: `.name.0123456789abcdef.part`.
///
/// A rename within one folder is atomic. Each file is locked (flock(2)) while its descriptor is open: an unlocked file
/// was left by a process that was killed, and is removed when the next file for the same destination is made.
enum SiblingFile {
    /// Makes a new file beside `target`, a path without symbolic links; the caller closes it with `FileLock.close`.
    ///
    /// Throws `FileFailure`.
    static func make(beside target: String, mode: UInt32) throws -> (url: URL, descriptor: Int32) {
        BlockingCall.check("open")
        removeAbandoned(beside: target)
        while true {
            let url = URL(fileURLWithPath: folder(of: target), isDirectory: true)
                .appendingPathComponent(prefix(for: target) + token() + suffix)
            let descriptor = Descriptors.make {
                open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
            }
            if descriptor < 0, errno == EEXIST { continue }
            guard descriptor >= 0 else {
                let code = errno
                throw FileFailure(operation: .create, file: URL(fileURLWithPath: target), code: code)
            }
            var status = stat()
            // Another process may have removed the file as abandoned before it was locked: another file is then made.
            if FileLock.take(descriptor, .exclusive) == .taken, fstat(descriptor, &status) == 0, status.st_nlink > 0 {
                return (url, descriptor)
            }
            close(descriptor)
        }
    }

    /// Removes the files that killed processes have left beside `target`.
    private static func removeAbandoned(beside target: String) {
        BlockingCall.check("open")
        let (folder, prefix) = (folder(of: target), prefix(for: target))
        // In a folder that can be written but not listed, abandoned files stay.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix(prefix), isName(name), name.utf8.count == prefix.utf8.count + endLength else {
                continue  // some other program's file
            }
            let path = "\(folder)/\(name)"
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            if FileLock.take(descriptor, .exclusive) == .taken { unlink(path) }
            close(descriptor)
        }
    }

    /// Whether a file has a name that `make` gives.
    static func isPartialFile(_ file: URL) -> Bool { isName(file.lastPathComponent) }

    private static func isName(_ name: String) -> Bool {
        // The shortest name has a dot, one character, a dot, the token and the suffix.
        let bytes = name.utf8
        guard bytes.count >= 3 + endLength, bytes.first == UInt8(ascii: "."), name.hasSuffix(suffix) else {
            return false
        }
        let end = bytes.suffix(endLength + 1)
        return end.first == UInt8(ascii: ".") && end.dropFirst().prefix(tokenLength).allSatisfy(isDigit)
    }

    private static let suffix = ".part"
    private static let tokenLength = 16
    private static let endLength = tokenLength + suffix.utf8.count

    private static func token() -> String {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: tokenLength - digits.count) + digits
    }

    /// Whether a byte may be part of a token.
    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }

    /// The prefix of the hidden name: the target's name, cut so that the hidden name has at most 255 bytes
    /// (path_resolution(7)).
    private static func prefix(for target: String) -> String {
        var name = (target as NSString).lastPathComponent
        while name.utf8.count > 200 { name.removeLast() }
        return ".\(name)."
    }

    private static func folder(of target: String) -> String {
        let folder = (target as NSString).deletingLastPathComponent
        return folder.isEmpty ? "." : folder
    }
}
