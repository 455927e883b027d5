// The file that an exchange sends.

import Foundation

/// The state of an exchange's file.
enum ExchangeFile {
    /// The file was not opened, or there is none.
    case unasked
    /// The exchange waits for the file.
    case asked
    /// The file is open until the end of the exchange, for every message that sends it.
    case open(OpenFile)
}

extension Exchange {
    /// Whether the exchange may want a connection: its file is open, or it has no file.
    ///
    /// Otherwise the file is opened on a thread that may wait for it, and the exchange arrives when the file is open.
    /// Meanwhile the idle time-out counts.
    var hasFile: Bool {
        guard case .file(let url) = message.content else { return true }
        switch file {
        case .open: return true
        case .asked: return false
        case .unasked: break
        }
        file = .asked
        touch()
        setTimer()
        // Weakly: a thread that is lost keeps nothing else.
        ContentThreads.shared.run { [weak self] failure in
            let opened = Result {
                if let failure { throw URLError.noAnswer(of: url, failure) }
                return try OpenFile(url)
            }
            guard let self else { return }
            loopPool.withPool { [self] in take(opened, $0) }
        }
        return false
    }

    private func take(_ opened: Result<OpenFile, any Error>, _ pool: ConnectionPool) {
        guard stage == .waiting, case .asked = file else { return }
        forgetActivity()
        switch opened {
        case .failure(let error): end(.unreadableBody(error))
        case .success(let opened):
            file = .open(opened)
            if flow.level != .suspended { pool.arrive(self) }
        }
    }
}

extension URLError {
    /// The error of a file for which no thread is left.
    fileprivate static func noAnswer(of url: URL, _ cause: BlockingThreads.Exhausted) -> URLError {
        let text = "\(url.path) could not be read: files or streams do not answer: \(cause.description)"
        return URLError(
            .cannotOpenFile, userInfo: [NSLocalizedDescriptionKey: text, NSFilePathErrorKey: url.path])
    }
}
