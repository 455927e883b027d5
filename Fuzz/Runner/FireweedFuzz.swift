// Runs a check over inputs: libFuzzer's, or files.

import Foundation
import FuzzTargets
import Glibc

#if FUZZING
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ check: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FireweedFuzz.run(FireweedFuzz.called, Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
#endif

/// The command.
///
/// `make fuzz` links it with libFuzzer, once for all targets: the name by which it is called is the target's, and its
/// arguments are libFuzzer's. Otherwise it runs the check of a target over files, for a debugger:
/// `FireweedFuzz TARGET FILE…`. Without arguments it lists the targets, and the longest inputs that are of use to them.
@main
enum FireweedFuzz {
    #if FUZZING
    /// The target by whose name the command was called.
    fileprivate static let called = target(named: program)
    #endif

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else {
            for target in FuzzTarget.all { print(target.name, target.maximumByteCount) }
            return
        }
        #if FUZZING
        _ = called
        var count = CommandLine.argc
        var start = CommandLine.unsafeArgv
        exit(runDriver(&count, &start, testOneInput))
        #else
        let target = target(named: arguments[1])
        for path in arguments.dropFirst(2) {
            print(path)
            run(target, Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        }
        #endif
    }

    private static var program: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    }

    private static func target(named name: String) -> FuzzTarget {
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            FileHandle.standardError.write(
                Data("There is no target \(name). Without arguments they are listed.\n".utf8))
            exit(64)
        }
        return target
    }

    /// A property that does not hold ends the process as a trap does, which is what a fuzzer looks for.
    fileprivate static func run(_ target: FuzzTarget, _ bytes: [UInt8]) {
        let start = cpuMilliseconds
        do {
            try target.check(bytes)
        } catch {
            // libFuzzer knows a failure by the end of its process.
            fatalError("\(target.name): \(error)")
        }
        let time = cpuMilliseconds - start
        if time > timeLimit { fatalError("\(target.name): \(bytes.count) bytes took \(time) ms of CPU time") }
    }

    /// The most CPU time for one input, in milliseconds, with AddressSanitizer.
    private static let timeLimit = 2000

    /// The CPU time of this thread, in milliseconds.
    private static var cpuMilliseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
    }
}
