// The file that an exchange sends.

import Foundation

/// The state of an exchange's file.
enum ExchangeFile {
    /// The file was not opened, or the message has no file.
    case closed
    /// The exchange waits for the file.
    case opening
    /// The file is open; it stays open until the exchange ends, also when the message is sent again.
    case open(OpenFile)
}

extension Exchange {
    /// Whether the exchange sends a file that has to be opened before it can have a connection.
    var needsFile: Bool {
        guard case .file = message.content, case .closed = file else { return false }
        return true
    }

    var isOpeningFile: Bool {
        guard case .opening = file else { return false }
        return true
    }

    /// Opens the file on a thread that may block; the exchange enters the queue when the file is open.
    ///
    /// The idle time-out runs while the file is being opened.
    func openFile() {
        guard needsFile, case .file(let url) = message.content, let pool else { return }
        file = .opening
        touch()
        setTimer()
        let open = pool.parts.openFile
        // `self` is weak, so that a thread that blocks for ever does not hold the exchange.
        ContentThreads.shared.run { [weak self] failure in
            let opened = Result {
                if let failure { throw URLError.noAnswer(of: url, failure) }
                return try open(url)
            }
            guard let self else { return }
            loopPool.withPool { [self] in take(opened, $0) }
        }
    }

    private func take(_ opened: Result<OpenFile, any Error>, _ pool: ConnectionPool) {
        guard stage == .waiting, isOpeningFile, let origin else { return }
        forgetActivity()
        switch opened {
        case .failure(let error):
            file = .closed
            if error.tellsOfExhaustion, origin.waitForDescriptor(exchange: self) { return }
            end(.unreadableBody(error))
        case .success(let opened):
            file = .open(opened)
            // An exchange that was suspended while its file was opened enters the queue when it is resumed, and blocks
            // no other exchange until then.
            guard flow.level != .suspended else { return origin.leave(self) }
            pool.arrive(self)
        }
    }
}

extension Error {
    /// Whether opening a file failed since the process or the system was out of descriptors.
    fileprivate var tellsOfExhaustion: Bool {
        let cause = (self as? URLError)?.userInfo[NSUnderlyingErrorKey] as? POSIXError
        return cause.map { Descriptors.isExhaustion($0.code.rawValue) } ?? false
    }
}

extension URLError {
    /// The error for a file that no thread is free to open.
    fileprivate static func noAnswer(of url: URL, _ cause: BlockingThreads.Exhausted) -> URLError {
        let text = "\(url.path) could not be read: files or streams do not answer: \(cause.description)"
        return URLError(
            .cannotOpenFile, userInfo: [NSLocalizedDescriptionKey: text, NSFilePathErrorKey: url.path])
    }
}
