import Testing

@testable import FireweedTransport

@Suite("The machine's date")
struct WallClockTests {
    @Test(
        "a clock beyond the year 2262 shows the last moment that there is",
        arguments: [
            (0, 0), (1_764_000_000_000_000_000, 1_764_000_000_000_000_000), (UInt64(Int64.max), .max),
            (UInt64(Int64.max) + 1, .max), (9_246_182_400_000_000_000, .max), (.max, .max),
        ])
    func future(row: (clock: UInt64, date: Int64)) {
        #expect(WallClock.date(row.clock) == row.date)
    }
}
