import FireweedTransport
import Testing

@Suite("Element queue")
struct ElementQueueTests {
    @Test("a queue gives back what it took, in order, over many turns")
    func queue() {
        var queue = ElementQueue<Int>()
        var next = 0
        var taken = 0
        for turn in 0..<2_000 {
            for _ in 0..<(turn % 7) {
                queue.append(next)
                next += 1
            }
            for _ in 0..<(turn % 5) where queue.count > 0 {
                #expect(queue.popFirst() == taken)
                taken += 1
            }
            #expect(queue.count == next - taken)
        }
        while let element = queue.popFirst() {
            #expect(element == taken)
            taken += 1
        }
        #expect(taken == next && queue.count == 0)
    }

    @Test("all elements are taken in their order, and the queue continues empty", arguments: [0, 1, 63, 64, 65, 300])
    func takeAll(taken: Int) {
        var queue = ElementQueue<Int>()
        for element in 0..<400 { queue.append(element) }
        for element in 0..<taken { #expect(queue.popFirst() == element) }
        #expect(queue.takeAll() == Array(taken..<400))
        #expect(queue.isEmpty && queue.popFirst() == nil)
        queue.append(7)
        #expect(queue.count == 1 && queue.popFirst() == 7)
    }
}
