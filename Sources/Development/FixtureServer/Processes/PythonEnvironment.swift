// The Python environment of servers that are written in Python.

import Foundation

/// The environment of PyPI packages that `Scripts/make-python` makes, or Debian's Python where it was not made.
public enum PythonEnvironment {
    /// Whether the environment with PyPI packages exists.
    public static let isOwn = FileManager.default.isExecutableFile(atPath: own)

    /// Whether `kosoku`, which runs the Autobahn cases, is installed.
    static let playsAutobahn = isOwn && FileManager.default.isExecutableFile(atPath: folder + "/kosoku")

    /// The interpreter.
    static let program = isOwn ? own : "python3"

    private static let own = folder + "/python3"

    private static let folder = Repository.root.appending(path: ".build/python/bin").path
}
