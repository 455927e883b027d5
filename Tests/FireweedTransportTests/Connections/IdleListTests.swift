import Testing

@testable import FireweedTransport

@Suite("Idle list")
struct IdleListTests {
    private final class Member {
        let number: Int
        var links = IdleLinks<Member>()

        init(_ number: Int) {
            self.number = number
        }
    }

    private enum Order: IdleOrder {
        static subscript(member: Member) -> IdleLinks<Member> {
            get { member.links }
            set { member.links = newValue }
        }
    }

    @Test("a list behaves as an array does, whatever is done to it")
    func model() {
        var random = SystemRandomNumberGenerator()
        let members = (0..<20).map(Member.init)
        var list = IdleList<Order>()
        var model: [Int] = []
        for _ in 0..<20_000 {
            let number = Int.random(in: 0..<members.count, using: &random)
            let isListed = model.contains(number)
            #expect(members[number].links.isListed == isListed)
            if Bool.random(using: &random) {
                #expect(list.append(members[number]) != isListed)
                if !isListed { model.append(number) }
            } else {
                #expect(list.remove(members[number]) == isListed)
                model.removeAll { $0 == number }
            }
            #expect(list.count == model.count && list.oldest?.number == model.first)
            #expect(list.all.map(\.number) == model)
            #expect(list.newest { $0.number % 2 == 0 }?.number == model.last { $0 % 2 == 0 })
        }
    }
}
