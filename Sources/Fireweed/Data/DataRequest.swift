// A request whose response's content is kept in memory.

import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that gathers its response's content in memory.
public class DataRequest: Request, @unchecked Sendable {
    // SAFETY: all its stored properties are `let`s of `Sendable` types.

    /// Checks a response; success, or the error that the request ends with.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ data: Data?) -> ValidationResult

    /// What the request was made from.
    public let convertible: any URLRequestConvertible
    private let content = Mutex<Data?>(nil)

    init(
        convertible: any URLRequestConvertible, core: SessionCore, interceptor: (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) {
        self.convertible = convertible
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// What has come of the content so far; `nil` before the first byte.
    ///
    /// A retry starts over.
    public var data: Data? { content.withLock { $0 } }

    override func makeRecord() throws -> RequestRecord {
        try RequestRecord(convertible)
    }

    override func receive(_ head: ResponseHead, of attempt: Attempt) -> HeadDisposition {
        offerResponse(of: attempt)
    }

    override func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        content.withLock { data in
            if data == nil {
                data = Data(bytes)
            } else {
                data?.append(contentsOf: bytes)
            }
        }
        return .wantsMore
    }

    override func resetContent() {
        content.withLock { $0 = nil }
    }
}
