// The program with the parts of tests that need a separate process.

public import Foundation

/// The built program of Tests/TestPrograms.
public enum TestPrograms {
    /// The program's file, in the folder of the running test program.
    public static var url: URL { Bundle.main.bundleURL.appendingPathComponent("TestPrograms") }
}
