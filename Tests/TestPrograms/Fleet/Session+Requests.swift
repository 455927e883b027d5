// Many requests at once.

import Fireweed

extension Session {
    /// Makes `count` requests at once; true when all of them succeed.
    func allSucceed(_ count: Int, _ url: String) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask { await self.request(url).validate().serializingData().response.error == nil }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }
}
