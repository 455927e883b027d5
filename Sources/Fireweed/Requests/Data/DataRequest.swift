// A request that keeps the content of its response in memory.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that collects the content of its response in memory.
public class DataRequest: Request, @unchecked Sendable {
    // SAFETY: all stored properties are `let`s of `Sendable` types.

    /// A closure that checks a response; returns success, or the error with which the request ends.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ data: Data?) -> ValidationResult

    private let receiver: MemoryReceiver

    init(
        convertible: any URLRequestConvertible, content: RequestContent = .ofURLRequest, taskKind: TaskKind = .data,
        core: SessionCore, interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        receiver = MemoryReceiver()
        super.init(
            RequestParts(origin: convertible, content: content, receiver: receiver, taskKind: taskKind),
            core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The value that the request was made from.
    public var convertible: any URLRequestConvertible { parts.origin }

    /// The content so far; `nil` before the first byte.
    ///
    /// A retry discards the content.
    public var data: Data? { receiver.data }
}

/// Collects the content of a response in memory.
final class MemoryReceiver: ResponseReceiver {
    private let content = Mutex(GrowingContent())

    /// The content so far; `nil` before the first byte.
    var data: Data? { content.withLock { $0.data } }

    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Demand {
        content.withLock { $0.append(bytes, announced: { attempt.contentByteCount }) }
        return .wantsMore
    }

    func request(_ request: Request, reached stage: ConclusionStage) {
        switch stage {
        case .retry: content.withLock { $0 = GrowingContent() }
        case .contentEnd, .validated, .outcome, .delivery: break
        }
    }
}
