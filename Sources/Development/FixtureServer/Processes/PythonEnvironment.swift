// The Python that servers written in it run in.

import Foundation

/// The environment that `Scripts/make-python` has made of PyPI's packages, or Debian's Python where there is none.
public enum PythonEnvironment {
    /// Whether packages of PyPI are there.
    public static let isOwn = FileManager.default.isExecutableFile(atPath: own)

    /// Whether the package that plays the Autobahn cases is there.
    static let playsAutobahn = isOwn && FileManager.default.isExecutableFile(atPath: folder + "/kosoku")

    /// The interpreter.
    static let program = isOwn ? own : "python3"

    private static let own = folder + "/python3"

    private static let folder = Repository.root.appending(path: ".build/python/bin").path
}
