// swift-tools-version: 6.2
import PackageDescription

// Source files in the shapes that code for Alamofire 5 has, built against the product `Alamofire` in both language
// modes.

let alamofire: Target.Dependency = .product(name: "Alamofire", package: "Fireweed")

let package = Package(
    name: "Compatibility",
    dependencies: [.package(name: "Fireweed", path: "../..")],
    targets: [
        .target(name: "App", dependencies: [alamofire], swiftSettings: [.swiftLanguageMode(.v6)]),
        // A link to the same files: SwiftPM refuses a folder that two targets have.
        .target(name: "AppInSwift5", dependencies: [alamofire], swiftSettings: [.swiftLanguageMode(.v5)]),
        // Code from before `Sendable`, which Swift 6 mode refuses with every library.
        .target(name: "OlderApp", dependencies: [alamofire], swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "WithNetworking", dependencies: [alamofire], swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "Run", dependencies: [alamofire, "App", "OlderApp"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
