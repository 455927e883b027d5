// The programs of the tests that need a process of their own.

public import Foundation

/// The built program of Tests/TestPrograms.
public enum TestPrograms {
    /// Where the program is: beside the tests that run.
    public static var url: URL { Bundle.main.bundleURL.appendingPathComponent("TestPrograms") }
}
