// Scripts that run inside of the server.

import FireweedTransport

/// A Lua script, which servers know by its SHA-1.
package struct RESPScript: Sendable {
    package let source: String
    /// 40 hexadecimal digits.
    package let digest: String

    /// A Lua function that returns the server's run ID and replication ID, which changes with each failover; empty
    /// where the user may not run `INFO`.
    static let currentRun = """
        local function currentRun()
            local text = redis.pcall('INFO', 'server')
            local replication = redis.pcall('INFO', 'replication')
            local run = type(text) == 'string' and string.match(text, 'run_id:(%x+)') or ''
            return run .. (type(replication) == 'string' and string.match(replication, 'master_replid:(%x+)') or '')
        end

        """

    /// Makes a script; keep it in a `static let`, since its digest is computed here.
    package init(_ source: String) {
        self.source = source
        digest = SHA1.digest(of: Array(source.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }
}
