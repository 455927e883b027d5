import Fireweed
import Foundation
import Testing

@Suite("The order of form pairs")
struct FormOrderTests {
    private class Animal: Encodable {
        let name = "Rex"
    }

    private final class Dog: Animal {
        enum Keys: String, CodingKey { case breed }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode("collie", forKey: .breed)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test("superEncoder() writes into the container that it comes from")
    func superEncoder() throws {
        let text: String = try URLEncodedFormEncoder().encode(Dog())
        #expect(text == "breed=collie&name=Rex")
        let nested: String = try URLEncodedFormEncoder().encode(["dog": Dog()])
        #expect(nested == "dog%5Bbreed%5D=collie&dog%5Bname%5D=Rex")
    }

    private class Tail: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode("b")
            try container.encode("c")
        }
    }

    private final class Letters: Tail {
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode("a")
            try super.encode(to: container.superEncoder())
            #expect(container.count == 3)
            try container.encode("d")
        }
    }

    private final class Alphabet: Tail {
        enum Keys: String, CodingKey { case script }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode("Latin", forKey: .script)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test("superEncoder() of an array writes elements into that array, and of an object loses no member")
    func superEncoderOfArray() throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)
        let letters: String = try encoder.encode(["l": Letters()])
        #expect(letters.removingPercentEncoding == "l[0]=a&l[1]=b&l[2]=c&l[3]=d")
        let alphabet: String = try encoder.encode(Alphabet())
        #expect(alphabet.removingPercentEncoding == "script=Latin&super[0]=b&super[1]=c")
    }

    private struct Sample: Encodable {
        var list = ["b", "c", "a"]
        var pairs = [["b": 1], ["a": 2]]
        var zeta = "1"
        var alpha = "2"
    }

    @Test("pairs are sorted as they are encoded, those of arrays too")
    func sorted() throws {
        let text: String = try URLEncodedFormEncoder(arrayEncoding: .noBrackets).encode(Sample())
        #expect(text == "alpha=2&list=a&list=b&list=c&pairs%5Ba%5D=2&pairs%5Bb%5D=1&zeta=1")
        let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: false, arrayEncoding: .noBrackets)
        let unsorted: String = try encoder.encode(Sample())
        #expect(unsorted == "list=b&list=c&list=a&pairs%5Bb%5D=1&pairs%5Ba%5D=2&zeta=1&alpha=2")
    }
}
