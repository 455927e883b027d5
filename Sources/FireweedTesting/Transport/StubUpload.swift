// Reading of a request's content for a stub.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// Opens and reads content piece by piece on a queue of its own, since a reader may wait for a disk or a stream.
final class StubUpload: @unchecked Sendable {
    // SAFETY: only the read that runs touches `buffer`, on `queue`, and only one read runs at a time; the variables are
    // confined to the transport's serial queue, on which every method is called.
    private let make: @Sendable () throws -> any BodyReader
    /// The reader of the content; `nil` until the content is open.
    private let reader = Mutex<(any BodyReader)?>(nil)
    private weak let transfer: StubTransfer?
    private let queue = DispatchQueue(label: "fireweed.stub.upload")
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

    private var content = Data()
    private var isReading = false

    init(_ make: @escaping @Sendable () throws -> any BodyReader, of transfer: StubTransfer) {
        self.make = make
        self.transfer = transfer
    }

    deinit { buffer.deallocate() }

    /// Reads the next piece, unless a piece is being read or the flow is suspended.
    func resume() {
        guard !isReading, let transfer, transfer.flow.level != .suspended else { return }
        isReading = true
        queue.async { [self] in
            let finish: @Sendable (Result<Int, any Error>) -> Void = { [self] result in
                let piece = result.map { Data(buffer.prefix($0)) }
                self.transfer?.command { self.take(piece, $0) }
            }
            do {
                try opened().read(into: buffer, completion: finish)
            } catch {
                finish(.failure(error))
            }
        }
    }

    private func opened() throws -> any BodyReader {
        if let reader = reader.withLock({ $0 }) { return reader }
        let made = try make()
        reader.withLock { $0 = made }
        return made
    }

    private func take(_ piece: Result<Data, any Error>, _ transfer: StubTransfer) {
        isReading = false
        switch piece {
        case .failure(let error): transfer.end(.unreadableBody(error))
        case .success(let data) where data.isEmpty: transfer.respond(to: content)
        case .success(let data):
            content.append(data)
            if transfer.context.fallback == nil {
                transfer.consumer?.transferDidSend(
                    data.count, total: Int64(content.count), expected: reader.withLock { $0 }?.byteCount)
            }
            resume()
        }
    }

    func stop() { reader.withLock { $0 }?.stop() }
}
