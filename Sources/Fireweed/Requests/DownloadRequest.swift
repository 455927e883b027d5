// A request whose content goes to a file.

import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that writes its response's content to a file, in large writes while it comes.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// How a file gets to its destination.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int
        /// Makes the folders above the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Removes what is at the destination.
        public static let removePreviousFile = Options(rawValue: 1 << 1)

        /// Makes options of bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }
    }

    /// Says where a file goes, from the place where it is and the response that it came with.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPURLResponse) -> (destinationURL: URL, options: Options)

    /// Checks a response; success, or the error that the request ends with.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// What a download is made of.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
    }

    /// What the download is made of.
    public let downloadable: Downloadable
    private let convertible: any URLRequestConvertible
    private let destination: Destination?
    private let file = Mutex(File())

    private struct File {
        var sink: FileSink?
        var url: URL?
    }

    init(
        convertible: any URLRequestConvertible, destination: Destination?, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        downloadable = .request(convertible)
        self.convertible = convertible
        self.destination = destination
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Where the content is, once it is complete.
    public var fileURL: URL? { file.withLock { $0.url } }

    /// A destination in a standard folder, under the name that the response suggests.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            let folder = FileManager.default.urls(for: directory, in: domain).first
            // Only the last part of a name: a server must not choose the folder.
            let name = response.suggestedFilename.map { URL(fileURLWithPath: $0).lastPathComponent }
            let usable = name.flatMap { $0.isEmpty || $0 == "/" || $0.hasPrefix(".") ? nil : $0 }
            guard let folder, let usable else { return (temporaryURL, options) }
            return (folder.appendingPathComponent(usable), options)
        }
    }

    override var taskKind: SessionTask.Kind { .download }

    override func makeRecord() throws -> RequestRecord {
        try RequestRecord(convertible)
    }

    override func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        let sink: FileSink
        do {
            sink = try file.withLock { file in
                if let sink = file.sink { return sink }
                let url = try TemporaryFiles.newPlace()
                let made = try FileSink(at: url) { [weak attempt] in attempt?.resumeIntake() }
                file.sink = made
                return made
            }
        } catch {
            attempt.cancel(with: .exchange(.cannotCreateFile, detail: error.plainText, engineCode: 0))
            return .taken
        }
        return sink.append(bytes)
    }

    override func contentEnded(_ attempt: Attempt?) {
        guard let attempt, attempt.statusCode != nil else { return }
        let sink = file.withLock { $0.sink }
        do {
            try sink?.finish()
            if error == nil { try place(sink?.url ?? emptyFile(), attempt) }
        } catch {
            record(error.asAFError(or: .sessionTaskFailed(error: URLError(.cannotWriteToFile))))
        }
        if error != nil { discard() }
    }

    override func resetContent() {
        discard()
    }

    private func record(_ failure: AFError) {
        mutable.withLock { $0.error = $0.error ?? failure }
        guard let attempt = lastAttempt else { return }
        tellMonitors { monitor, request in
            monitor.request(request, didFailTask: attempt.sessionTask, earlyWithError: failure)
        }
    }

    /// A response without content still gives a file.
    private func emptyFile() throws -> URL {
        let url = try TemporaryFiles.newPlace()
        try Data().write(to: url)
        return url
    }

    /// Removes what an attempt that failed has written.
    private func discard() {
        let unplaced = file.withLock { file -> URL? in
            defer { file.sink = nil }
            return file.url == nil ? file.sink?.url : nil
        }
        guard let unplaced else { return }
        try? core.delegate.fileManager.removeItem(at: unplaced)
        TemporaryFiles.leave(unplaced)
    }

    /// Moves the complete file to its destination.
    private func place(_ source: URL, _ attempt: Attempt) throws {
        tellTaskMonitors { monitor, session in
            guard let task = attempt.sessionTask as? SessionDownloadTask else { return }
            monitor.urlSession(session, downloadTask: task, didFinishDownloadingTo: source)
        }
        guard let destination, let response = attempt.httpURLResponse else { return placed(source, attempt) }
        let (target, options) = destination(source, response)
        tellMonitors { monitor, _ in monitor.request(self, didCreateDestinationURL: target) }
        let files = core.delegate.fileManager
        do {
            if options.contains(.removePreviousFile), target != source, files.fileExists(atPath: target.path) {
                try files.removeItem(at: target)
            }
            if options.contains(.createIntermediateDirectories) {
                try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            }
            if target != source {
                try files.moveItem(at: source, to: target)
                TemporaryFiles.leave(source)
            }
        } catch {
            let failure = AFError.downloadedFileMoveFailed(error: error, source: source, destination: target)
            tellMonitors { monitor, _ in
                monitor.request(self, didFinishDownloadingUsing: attempt.sessionTask, with: .failure(failure))
            }
            throw failure
        }
        placed(target, attempt)
    }

    private func placed(_ url: URL, _ attempt: Attempt) {
        file.withLock { $0 = File(sink: nil, url: url) }
        tellMonitors { monitor, _ in
            monitor.request(self, didFinishDownloadingUsing: attempt.sessionTask, with: .success(url))
        }
    }
}
