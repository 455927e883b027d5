// Files of the checkout.

public import Foundation

/// The checkout that a program was built from.
public enum Repository {
    /// The folder of Package.swift.
    public static let root: URL = {
        var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder
    }()
}
