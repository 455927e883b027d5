// Encoding a value of fifty fields.

import Fireweed
import Foundation

/// A value of ten structs with five fields each.
private struct Order: Encodable {
    struct Item: Encodable {
        var id = 4711
        var name = "Fireweed & clover, 250 g"
        var price = 12.5
        var isInStock = true
        var tags = ["honey", "summer"]
    }

    struct Address: Encodable {
        var street = "Blåbärsstigen 3"
        var city = "Kiruna"
        var code = "981 32"
        var country = "SE"
        var note: String? = "ring twice"
    }

    var items = [Item(), Item(), Item(), Item(), Item(), Item()]
    var delivery = Address()
    var billing = Address()
    var sender = Address()
    var keeper = Address()
}

/// Encodes the same value repeatedly, as a form or as JSON.
struct FormRound {
    let client: Client

    func run(count: Int) throws {
        let order = Order()
        let form = URLEncodedFormEncoder()
        let json = JSONEncoder()
        var byteCount = 0
        for _ in 0..<count {
            if client == .fireweedEncode {
                let data: Data = try form.encode(order)
                byteCount += data.count
            } else {
                byteCount += try json.encode(order).count
            }
        }
        guard byteCount > count else { throw RoundError(text: "nothing was encoded") }
    }
}
