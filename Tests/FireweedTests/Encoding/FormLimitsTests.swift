import Fireweed
import FixtureServer
import Foundation
import Testing

/// A value inside a value, as often as is wanted.
private final class Nested: Encodable {
    private var inner: Nested?

    init(levels: Int) {
        var node: Nested?
        for _ in 0..<levels {
            let outer = Nested(levels: 0)
            outer.inner = node
            node = outer
        }
        inner = node
    }

    // Without recursion: a long chain would overflow the stack.
    deinit {
        var next = inner.take()
        while let following = next?.inner.take() { next = following }
    }
}

/// Encodes what a closure writes.
private struct Written: Encodable {
    let write: (any Encoder) throws -> Void

    func encode(to encoder: any Encoder) throws { try write(encoder) }
}

private enum Key: String, CodingKey { case a, b, c }

@Suite("Limits of the form encoder", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FormLimitsTests {
    private let encoder = URLEncodedFormEncoder()

    @Test("a value that is nested too deep is an error, and does not end the process", arguments: [600, 50_000])
    func deep(levels: Int) {
        let error = #expect(throws: EncodingError.self) { try encoder.encode(Nested(levels: levels)) as String }
        #expect(
            error.map { AFError.parameterEncoderFailed(reason: .encoderFailed(error: $0)) }?.errorDescription?
                .contains("more than 500 levels") == true)
        #expect(throws: Never.self) { try encoder.encode(Nested(levels: 400)) as String }
    }

    @Test("containers that are nested too deep without a value are an error")
    func deepContainers() {
        let value = Written { encoder in
            var container = encoder.container(keyedBy: Key.self)
            for _ in 0..<50_000 { container = container.nestedContainer(keyedBy: Key.self, forKey: .a) }
        }
        #expect(throws: EncodingError.self) { try encoder.encode(value) as String }
    }

    @Test("a value with very many members is encoded, each once")
    func wide() throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<400_000).map { ("k\($0)", $0) })
        let text: String = try encoder.encode(values)
        #expect(text.split(separator: "&").count == 400_000 && text.contains("k399999=399999"))
    }

    @Test("containers of two kinds for one key are an error and lose nothing silently")
    func twoKinds() {
        let value = Written { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var object = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try object.encode(1, forKey: .b)
            var array = container.nestedUnkeyedContainer(forKey: .a)
            try array.encode(2)
        }
        #expect(throws: EncodingError.self) { try encoder.encode(value) as String }
    }

    @Test("a superclass in an array keeps what each of its containers has written")
    func superclassInArray() throws {
        let value = Written { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var array = container.nestedUnkeyedContainer(forKey: .a)
            try array.encode(1)
            let superclass = array.superEncoder()
            var first = superclass.container(keyedBy: Key.self)
            try first.encode(2, forKey: .b)
            var second = superclass.container(keyedBy: Key.self)
            try second.encode(3, forKey: .c)
        }
        let indexed = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)
        #expect(try indexed.encode(value) == "a%5B0%5D=1&a%5B1%5D%5Bb%5D=2&a%5B1%5D%5Bc%5D=3")
    }

    @Test("a superclass with an array beside its subclass's keys keeps every element")
    func superclassBesideKeys() throws {
        let value = Written { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            let superclass = container.superEncoder()
            var first = superclass.unkeyedContainer()
            try first.encode(2)
            var second = superclass.unkeyedContainer()
            try second.encode(3)
        }
        #expect(try encoder.encode(value) == "a=1&super%5B%5D=2&super%5B%5D=3")
    }
}
