import Testing

@testable import Fireweed

@Suite("Buffers of async streams")
struct StreamBufferTests {
    @Test(
        "a buffer keeps what its policy says",
        arguments: [
            (BufferLimit.unbounded, [1, 2, 3, 4, 5]), (.oldest(2), [1, 2]), (.newest(2), [4, 5]), (.oldest(0), []),
            (.newest(0), []), (.oldest(9), [1, 2, 3, 4, 5]), (.newest(9), [1, 2, 3, 4, 5]),
        ])
    func policies(limit: BufferLimit, expected: [Int]) async {
        let buffer = StreamBuffer<Int>(limit: limit)
        for number in 1...5 { buffer.push(number) }
        buffer.finish()
        buffer.push(6)
        var elements: [Int] = []
        while let element = await buffer.next() { elements.append(element) }
        #expect(elements == expected)
    }

    @Test("a buffer of the newest elements does not grow without a reader")
    func newestStaysSmall() async {
        final class Counted: Sendable {}
        let buffer = StreamBuffer<Counted>(limit: .newest(2))
        weak var first: Counted?
        do {
            let element = Counted()
            first = element
            buffer.push(element)
        }
        #expect(first != nil)
        for _ in 0..<2 { buffer.push(Counted()) }
        #expect(first == nil, "what was dropped is released at once")
        for _ in 0..<100_000 { buffer.push(Counted()) }
        #expect(buffer.count == 2)
    }

    @Test("what was read is released at once")
    func released() async {
        final class Counted: Sendable {}
        let buffer = StreamBuffer<Counted>()
        weak var first: Counted?
        do {
            let element = Counted()
            first = element
            buffer.push(element)
        }
        buffer.push(Counted())
        _ = await buffer.next()
        #expect(first == nil)
    }

    @Test("finishing wakes the reader, and can drop what is left")
    func finishing() async {
        let buffer = StreamBuffer<Int>()
        let reader = Task { await buffer.next() }
        buffer.finish()
        #expect(await reader.value == nil)
        let other = StreamBuffer<Int>()
        other.push(1)
        other.finish(discarding: true)
        #expect(await other.next() == nil)
    }
}
