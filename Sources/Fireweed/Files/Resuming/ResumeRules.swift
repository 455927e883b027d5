// The rules for continuing a partial file (RFC 9110 §13.1.5 and §14). Pure.

package import FireweedTransport
import Foundation

/// The rules for continuing a download, as pure functions of fields and numbers.
package enum ResumeRules {
    /// The decision about the response to a request for the rest of a download.
    enum ResumeDecision: Equatable {
        /// The response is the rest, or a part of it: it is appended to the file.
        ///
        /// `rangeEnd` is the length of the file after the last byte of the range; `completeByteCount` is the length of
        /// the representation, if it is known.
        case append(rangeEnd: Int64, completeByteCount: Int64?)
        /// The response is the whole representation: it replaces the content of the file.
        case replace(Resumption.Reason)
        /// The response cannot be used: the whole representation is requested.
        case askAgain(Resumption.Reason)
        /// The response is something else, such as an error; the file stays as it is.
        case other
    }

    /// The offset to request when the file has `byteCount` bytes.
    ///
    /// For a file that may be complete, its last byte is requested again: a range after the end would be refused with
    /// 416, which says nothing about the validator.
    static func offset(byteCount: Int64, expectedByteCount: Int64?) -> Int64 {
        guard byteCount > 0 else { return 0 }
        if let expectedByteCount, byteCount < expectedByteCount { return byteCount }
        return byteCount - 1
    }

    /// Decides about the response to a request for the bytes from `offset` on, with `If-Range`.
    static func decide(
        on head: ResponseHead, offset: Int64, validator: ResumeData.Validator, expectedByteCount: Int64?
    ) -> ResumeDecision {
        switch head.status {
        case 206: decide(onPart: head, offset: offset, validator: validator, expectedByteCount: expectedByteCount)
        case _ where isWhole(head): .replace(agrees(head, with: validator) ? .rangeIgnored : .representationChanged)
        case 416: .askAgain(.rangeNotSatisfiable)
        default: .other
        }
    }

    /// Whether the content is the whole requested representation: for 200, and for a proxy's 203 (RFC 9110 §15.3.4).
    ///
    /// The content of another status, such as 202, is something else: it does not replace the partial file.
    static func isWhole(_ head: ResponseHead) -> Bool { head.status == 200 || head.status == 203 }

    private static func decide(
        onPart head: ResponseHead, offset: Int64, validator: ResumeData.Validator, expectedByteCount: Int64?
    ) -> ResumeDecision {
        guard !isCoded(head) else { return .askAgain(.contentCoding) }
        guard agrees(head, with: validator) else { return .askAgain(.representationChanged) }
        // Several `Content-Range` fields are joined by commas, and `multipart/byteranges` has none: neither is usable.
        guard let range = head.value(of: "Content-Range").flatMap({ ContentRange($0) }), let bounds = range.bounds,
            bounds.lowerBound == offset
        else { return .askAgain(.rangeIgnored) }
        if let length = head.contentLength, length != bounds.upperBound - bounds.lowerBound + 1 {
            return .askAgain(.rangeIgnored)
        }
        if let complete = range.completeByteCount, let expectedByteCount, complete != expectedByteCount {
            return .askAgain(.representationChanged)
        }
        return .append(
            rangeEnd: bounds.upperBound + 1, completeByteCount: range.completeByteCount ?? expectedByteCount)
    }

    /// Whether the response has the saved validator.
    ///
    /// True for a response without a validator: a server that obeys `If-Range` sends the whole representation when the
    /// representation has changed (RFC 9110 §13.1.5).
    private static func agrees(_ head: ResponseHead, with validator: ResumeData.Validator) -> Bool {
        switch validator {
        case .entityTag(let tag): head.value(of: "ETag").map { $0 == tag } ?? true
        case .lastModified(let date): head.value(of: "Last-Modified").map { $0 == date } ?? true
        }
    }

    // MARK: Preparing for a later download

    /// The strong validator of a response: its `ETag` or, without an `ETag`, its `Last-Modified`; `nil` if it is weak
    /// or missing.
    package static func validator(of head: ResponseHead) -> ResumeData.Validator? {
        if let tag = head.value(of: "ETag") { return isStrong(entityTag: tag) ? .entityTag(tag) : nil }
        // A `Last-Modified` is strong only if it is at least a second before the response's `Date` (RFC 9110 §8.8.2.2).
        guard let text = head.value(of: "Last-Modified"), let modified = HTTPDate.parse(text),
            let sent = head.value(of: "Date").flatMap({ HTTPDate.parse($0) }), sent.timeIntervalSince(modified) >= 1
        else { return nil }
        return .lastModified(text)
    }

    /// Whether the response is the whole representation, and a later download may request ranges of it.
    static func isResumable(_ head: ResponseHead, method: String) -> Bool {
        method == "GET" && head.status == 200 && !isCoded(head)
            && head.value(of: "Accept-Ranges")?.lowercased() != "none"
    }

    /// Whether a text is a strong entity-tag: in quotes, without `W/` (RFC 9110 §8.8.3).
    package static func isStrong(entityTag tag: String) -> Bool {
        guard tag.utf8.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return false }
        return tag.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
    }

    private static func isCoded(_ head: ResponseHead) -> Bool {
        head.value(of: "Content-Encoding").map { $0.lowercased() != "identity" } ?? false
    }
}
