// A form as an `InputStream`.

package import Foundation

extension MultipartFormData {
    /// Makes an unopened stream of an encoded form, and says its length; each call makes another stream.
    package typealias Streams = @Sendable () -> (stream: InputStream, byteCount: Int64)

    /// Returns a maker of streams of the form as it is now; throws the failure of the first append that failed.
    package func streams() throws -> Streams {
        let makeBody = try bodies()
        return {
            let body = makeBody()
            return (BodyInputStream { body }, body.byteCount ?? 0)
        }
    }
}
