// Error replies of a server.

import Testing

@testable import FireweedFleet

@Suite("Errors of a fleet")
struct FleetErrorTests {
    @Test(
        "an error is known by its code, also where Redis before version 7 wraps it",
        arguments: [
            ("OOM command not allowed", FleetError.outOfMemory),
            ("READONLY You can't write against a read only replica.", .readOnly),
            ("NOREPLICAS Not enough good replicas to write.", .readOnly),
            ("ERR Error running script (call to f_1): @user_script:3: @user_script: 3: -OOM not allowed", .outOfMemory),
            ("ERR Error running script (call to f_1): @user_script:3: -READONLY You can't write.", .readOnly),
            ("ERR Error running script (call to f_1): @user_script:3: -NOREPLICAS Not enough.", .readOnly),
            ("ERR Error running script (call to f_1): @user_script:3: -WRONGTYPE Operation", .wrongType),
            ("NOPERM no permissions", .notPermitted(message: "no permissions")),
            ("ERR value is -1 or -A", .server(code: "ERR", message: "value is -1 or -A")),
            ("ERR unknown command", .server(code: "ERR", message: "unknown command")),
        ])
    func codes(text: String, error: FleetError) {
        #expect(FleetError(RESPError(text)) == error)
    }

    @Test("what concerns one command is no outage of the server")
    func outages() {
        #expect(FleetError.readOnly.isOutage)
        #expect(!FleetError.notPermitted(message: "").isOutage)
    }
}
