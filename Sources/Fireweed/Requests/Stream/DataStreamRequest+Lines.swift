// Lines and JSON Lines.

public import Foundation

extension DataStreamRequest {
    /// The default maximum length of a line, in bytes: 16 MiB.
    public static let defaultMaximumLineByteCount = 16 * 1024 * 1024

    /// Returns an async sequence of the content's lines, as text without line ends.
    ///
    /// Lines end with LF, CR or CRLF; empty lines are included. A last line without a line end is included when the
    /// content is complete. Bytes that are not UTF-8 become U+FFFD; a byte order mark at the start is dropped.
    ///
    /// The sequence gets no content of a response that the validators refuse; such a request may be retried. Once the
    /// sequence has got content, a failure ends the sequence, and no retrier is asked. The content of a response with a
    /// status from 400 on is also in `data`.
    ///
    /// <!-- sample: no-run: the server has no such log -->
    /// ```swift
    /// for try await line in session.streamRequest("https://example.com/log").validate().lines() { print(line) }
    /// ```
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when an iterator is released before the end;
    ///     true by default.
    ///   - maximumLineByteCount: the maximum length of a line, 16 MiB by default; a longer line ends request and
    ///     sequence with `StreamedContentError.lineTooLong`.
    /// - Returns: a sequence that throws the request's error when the request fails.
    public func lines(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        maximumLineByteCount: Int = DataStreamRequest.defaultMaximumLineByteCount
    ) -> Elements<String> {
        elements(cancelling: shouldAutomaticallyCancel) {
            .lines(LineSplitter(terminator: .any, maximumByteCount: maximumLineByteCount))
        } convert: { line in
            .success(String(decoding: line, as: UTF8.self))
        }
    }

    /// Returns an async sequence of a decoded value for each line of the content (JSON Lines, NDJSON).
    ///
    /// Lines end with LF; empty lines are skipped. Lines are decoded on the task that reads the sequence. A line that
    /// cannot be decoded ends the sequence with `AFError.responseSerializationFailed(reason: .decodingFailed(error:))`,
    /// and ends the request with the same error unless automatic cancelling is off. For refused responses, failures and
    /// retries, see `lines()`.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - decoder: decodes one line at a time.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when an iterator is released before the end, or
    ///     a line cannot be decoded; true by default.
    ///   - maximumLineByteCount: the maximum length of a line, 16 MiB by default; a longer line ends request and
    ///     sequence with `StreamedContentError.lineTooLong`.
    /// - Returns: a sequence that throws the request's error when the request fails.
    @preconcurrency
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder(),
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        maximumLineByteCount: Int = DataStreamRequest.defaultMaximumLineByteCount
    ) -> Elements<Value> {
        let serializer = DecodableStreamSerializer<Value>(decoder: decoder)
        return elements(cancelling: shouldAutomaticallyCancel) {
            .lines(LineSplitter(terminator: .lineFeed, maximumByteCount: maximumLineByteCount))
        } convert: { line in
            let isBlank = line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            return isBlank ? nil : serializer.result(of: line)
        }
    }
}

extension PieceReader where Value == Data, Failure == AFError {
    /// A reader that splits the content into lines.
    fileprivate static func lines(_ splitter: LineSplitter) -> Self {
        let lines = QueueConfined(splitter)
        return PieceReader(isQuick: false, onFailure: .ends) { data, emit in
            lines.value.append(data)
            do throws(StreamedContentError) {
                while let line = try lines.value.next() { emit(.success(Data(line)), line.count) }
            } catch {
                emit(.failure(error.asAFError), 0)
            }
        } restart: {
            lines.value.restart()
        } finish: { isWhole, emit in
            if isWhole, let line = lines.value.finish() { emit(.success(Data(line)), line.count) }
        }
    }
}
