// A scanned document, from which decoders read.

import Foundation

/// A document: its content, its tape, and whether a decoder was refused something.
final class Document {
    // SAFETY: one thread uses a document at a time, as `Decoder` demands. The storage contains, in this order: the
    // address of the content, whether anything was refused, the effort since the refusal, the limit of the effort,
    // types that are not dictionaries, and the tape. These are not properties: Swift checks the exclusivity of each
    // access to a class's property, which would cost half as much as everything else.
    private let storage: UnsafeMutablePointer<UInt64>
    private static let headCount = 4 + typeCount
    private static let typeCount = 8
    private let byteCount: Int
    private var copy: UnsafeMutablePointer<UInt8>?
    let options: JSONTape

    /// Scans content; `nil` if the content is refused.
    init?(_ content: UnsafeBufferPointer<UInt8>, _ options: JSONTape) {
        guard let address = content.baseAddress, content.count < 1 << 32 else { return nil }
        storage = .allocate(capacity: Self.headCount + Scanner.wordCount(content.count))
        storage.initialize(repeating: 0, count: Self.headCount)
        byteCount = content.count
        self.options = options
        storage[0] = UInt64(UInt(bitPattern: address))
        guard let wordCount = Scanner(content, storage + Self.headCount).scan() else { return nil }
        storage[3] = UInt64(2 * wordCount + 1000)
    }

    deinit {
        storage.deallocate()
        copy?.deallocate()
    }

    /// Copies the content for a type that has kept a decoder: the address is valid only while `JSONTape.decode` runs.
    func keepContent() {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
        copy.update(from: content, count: byteCount)
        storage[0] = UInt64(UInt(bitPattern: copy))
        self.copy = copy
    }

    var content: UnsafePointer<UInt8> {
        UnsafePointer(bitPattern: UInt(storage[0])).unsafelyUnwrapped  // set from an address by `init`
    }

    /// Whether anything was refused to a decoder, so that Foundation has to decode.
    var isRefused: Bool { storage[1] != 0 }

    /// Marks the document as refused; returns the error to throw for an unsupported or missing value.
    func refusal() -> any Error {
        storage[1] = 1
        return Self.refused
    }

    /// The error that a type receives; Foundation decodes again, and the caller receives Foundation's error.
    private static let refused = DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: [], debugDescription: "Foundation decodes this content."))

    /// Whether a type is a dictionary with `String` keys.
    ///
    /// The test is expensive: up to eight types that are not dictionaries are cached.
    @inline(__always)
    func isStringDictionary<Value>(_ type: Value.Type) -> Bool {
        let address = UInt64(UInt(bitPattern: unsafeBitCast(type as Any.Type, to: Int.self)))
        let entry = storage + 4 + Int(address >> 4 & UInt64(Self.typeCount - 1))
        if entry.pointee == address { return false }
        if type is any StringDictionary.Type { return true }
        entry.pointee = address
        return false
    }

    /// Whether the effort since a refusal has exceeded its limit.
    ///
    /// After a refusal the result is discarded; without the limit, a type that tries several forms at each depth would
    /// take very long.
    var isSpent: Bool { storage[2] > storage[3] }

    var effort: Int { Int(storage[2]) }

    /// Counts decoded values, and members that `path(to:)` passes.
    func noteEffort(_ count: Int = 1) { storage[2] += UInt64(count) }

    // MARK: Values

    @inline(__always)
    func word(_ place: Int) -> Word { Word(bits: storage[Self.headCount + place]) }

    /// Returns the place after a value and its members.
    @inline(__always)
    func next(_ place: Int) -> Int {
        let word = word(place)
        return word.isContainer ? word.place : place + 1
    }

    /// Returns the bytes of a number or a string.
    @inline(__always)
    func bytes(_ word: Word) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: content + word.place, count: word.count)
    }

    func string(_ place: Int) throws -> String {
        guard let string = text(word(place)) else { throw refusal() }
        return string
    }

    /// Returns the text of a string; `nil` for another value.
    func text(_ word: Word) -> String? {
        switch word.kind {
        case Word.Kind.ascii, Word.Kind.text: String(decoding: bytes(word), as: UTF8.self)
        case Word.Kind.escaped: Escapes.text(bytes(word))
        default: nil
        }
    }

    func bool(_ place: Int) throws -> Bool {
        switch word(place).kind {
        case Word.Kind.yes: true
        case Word.Kind.no: false
        default: throw refusal()
        }
    }

    func isNull(_ place: Int) -> Bool { word(place).kind == Word.Kind.null }

    /// Returns the place of the first value with a name, in an object whose names are all ASCII without escapes.
    func find(_ name: UnsafeBufferPointer<UInt8>, in object: Int) -> Int? {
        guard let address = name.baseAddress else { return nil }
        var place = object + 1
        let (end, content, count, converts) = (word(object).place, content, name.count, options.convertsSnakeCase)
        while place < end {
            let word = word(place)
            if converts, SnakeCase.isDoubtful(bytes(word)) { _ = refusal() }
            if converts
                ? SnakeCase.isEqual(bytes(word), name)
                : word.count == count && memcmp(content + word.place, address, count) == 0
            {
                return place + 1
            }
            place = next(place + 1)
        }
        return nil
    }

    /// Calls `body` with the word of each name and the place of its value, in their order.
    func members(_ object: Int, _ body: (Word, Int) -> Void) {
        var place = object + 1
        let end = word(object).place
        while place < end {
            body(word(place), place + 1)
            place = next(place + 1)
        }
    }
}
