// Async sequences of the lines, values or events in a stream's content.

extension DataStreamRequest {
    /// An async sequence of the lines, values or events in a stream's content.
    ///
    /// Each iterator gets the content that comes after the iterator was made. Making the first iterator resumes the
    /// request, as adding a handler does.
    ///
    /// While the reader does not read, at most about a megabyte is buffered; then nothing more is read from the
    /// network. An iterator that is released before the end, or whose task is cancelled, cancels the request, unless
    /// automatic cancelling was turned off.
    public struct Elements<Element: Sendable>: AsyncSequence, Sendable {
        /// The iterator.
        public typealias AsyncIterator = Iterator
        /// The error with which the sequence ended early.
        public typealias Failure = AFError

        private let open: @Sendable () -> StreamSource<Result<Element, AFError>>

        init(open: @escaping @Sendable () -> StreamSource<Result<Element, AFError>>) {
            self.open = open
        }

        /// Makes an iterator; content is buffered for it from now on.
        public func makeAsyncIterator() -> Iterator {
            Iterator(open())
        }

        /// Returns the elements one by one, to one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            /// The error with which the sequence ended early.
            public typealias Failure = AFError

            private let produce: @Sendable () async -> Result<Element, AFError>?
            private let token: TerminationToken
            private var isOver = false

            init(_ source: StreamSource<Result<Element, AFError>>) {
                produce = source.next
                token = TerminationToken(source.onTermination)
            }

            /// The next element; `nil` at the end.
            ///
            /// Throws the request's error, which is `AFError.explicitlyCancelled` (and never `CancellationError`) when
            /// the task was cancelled, and `AFError.responseSerializationFailed` for content that cannot be read. Later
            /// calls return `nil`.
            public mutating func next() async throws(AFError) -> Element? {
                guard !isOver else { return nil }
                let result = await withTaskCancellationHandler { [produce] in
                    await produce()
                } onCancel: { [token] in
                    token.terminate()
                }
                switch result {
                case .success(let element): return element
                case nil: isOver = true
                case .failure(let error):
                    isOver = true
                    throw error
                }
                return nil
            }
        }
    }

    /// Returns a sequence of a reader's values after `convert`, which runs on the reading task and returns `nil` to
    /// drop a value.
    func elements<Raw: Sendable, Element: Sendable>(
        cancelling: Bool, reader: @escaping @Sendable () -> PieceReader<Raw, AFError>,
        convert: @escaping @Sendable (Raw) -> Result<Element, AFError>?
    ) -> Elements<Element> {
        Elements { [self] in
            let sink = SequenceStreamSink(request: self, limit: .unbounded, reader: reader())
            _ = add(sink as any StreamSink)
            return StreamSource {
                while let next = await sink.nextResult() {
                    switch next {
                    case .failure(let error): return .failure(error)
                    case .success(let raw):
                        guard let result = convert(raw) else { continue }
                        if case .failure(let error) = result, cancelling { self.receiver.fail(self, with: error) }
                        return result
                    }
                }
                return nil
            } onTermination: {
                sink.detach(cancelling: cancelling)
            }
        }
    }
}
