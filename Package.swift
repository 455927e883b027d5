// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// One system-library target for each C library: a module map and a shim header, nothing else.
func systemLibrary(_ name: String, pkgConfig: String?, package: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/Libraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// A library that is needed with a trait alone.
func optional(_ library: String, _ trait: String) -> Target.Dependency {
    .target(name: library, condition: .when(traits: [trait]))
}

/// A product of another package that is needed with a trait alone.
func bridged(_ product: String, of package: String, _ trait: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: [trait]))
}

let package = Package(
    name: "Fireweed",
    products: [
        .library(name: "Fireweed", targets: ["Fireweed"]),
        .library(name: "FireweedTesting", targets: ["FireweedTesting"]),
        .library(name: "FireweedTestingTraits", targets: ["FireweedTestingTraits"]),
        .library(name: "FireweedFleet", targets: ["FireweedFleet"]),
        .library(name: "Alamofire", targets: ["Alamofire"]),
        .library(name: "FireweedTransport", targets: ["FireweedTransport"]),
        .library(name: "FireweedHTTPTypes", targets: ["FireweedHTTPTypes"]),
        .library(name: "FireweedOpenAPI", targets: ["FireweedOpenAPI"]),
        .library(name: "FireweedLifecycle", targets: ["FireweedLifecycle"]),
        .library(name: "FireweedTracing", targets: ["FireweedTracing"]),
        .library(name: "FireweedMetrics", targets: ["FireweedMetrics"]),
        .library(name: "FireweedLogging", targets: ["FireweedLogging"]),
        .executable(name: "fireweed", targets: ["FireweedCLI"]),
    ],
    // What needs a library that can be left out. Who names other traits of this package keeps these with `.defaults`.
    traits: [
        .default(enabledTraits: ["Brotli", "Zstd", "SQLite", "WebSocket", "PublicSuffix"]),
        .trait(name: "Brotli", description: "The content coding br, by libbrotlidec"),
        .trait(name: "Zstd", description: "The content coding zstd, by libzstd"),
        .trait(name: "SQLite", description: "Caches, credentials and rate limits in files, by libsqlite3"),
        .trait(name: "WebSocket", description: "WebSockets, by libwslay"),
        .trait(name: "PublicSuffix", description: "Cookies for whole domains, by libpsl's list of public suffixes"),
        // Bridges to other packages, which are fetched for these traits alone.
        .trait(name: "HTTPTypes", description: "FireweedHTTPTypes, the bridge to swift-http-types"),
        .trait(
            name: "OpenAPI", description: "FireweedOpenAPI, a transport for clients of swift-openapi-generator",
            enabledTraits: ["HTTPTypes"]),
        .trait(name: "ServiceLifecycle", description: "FireweedLifecycle, a session as a service of a group"),
        .trait(name: "DistributedTracing", description: "FireweedTracing, a span for each message"),
        .trait(name: "SwiftLog", description: "FireweedLogging, an entry for each attempt"),
        .trait(name: "SwiftMetrics", description: "FireweedMetrics, metrics of messages and connections"),
    ],
    // Each is used under a trait that is off by default: a build without these traits fetches none of them.
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-service-context.git", from: "1.1.0"),
    ],
    targets: [
        .systemLibrary(name: "CLinux", path: "Sources/Libraries/CLinux"),
        systemLibrary("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
        systemLibrary("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        systemLibrary("CPublicSuffix", pkgConfig: "libpsl", package: "libpsl-dev"),
        systemLibrary("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        systemLibrary("CBrotliDecoder", pkgConfig: "libbrotlidec", package: "libbrotli-dev"),
        systemLibrary("CZstd", pkgConfig: "libzstd", package: "libzstd-dev"),
        systemLibrary("CNghttp2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
        systemLibrary("CWslay", pkgConfig: nil, package: "libwslay-dev"),
        // Opens libmicrohttpd at run time, and has its headers from libmicrohttpd-dev.
        .target(name: "CMicrohttpd", path: "Sources/Libraries/CMicrohttpd"),

        .target(
            name: "FireweedTransport",
            dependencies: [
                "CLinux", "COpenSSL", "CNghttp2", "CZlib", optional("CWslay", "WebSocket"),
                optional("CBrotliDecoder", "Brotli"), optional("CZstd", "Zstd"),
            ],
            swiftSettings: settings),
        // Needs Foundation alone.
        .target(name: "JSONTape", swiftSettings: settings),
        .target(
            name: "Fireweed",
            dependencies: [
                "FireweedTransport", "JSONTape", "CLinux", "CZlib", optional("CPublicSuffix", "PublicSuffix"),
                optional("CSQLite", "SQLite"),
            ],
            swiftSettings: settings),
        // Swift 5 mode: Alamofire gives JSON as `Any`, which is not `Sendable` and which Swift 6 mode refuses here.
        .target(
            name: "Alamofire", dependencies: ["Fireweed"], swiftSettings: settings + [.swiftLanguageMode(.v5)]),
        .target(name: "FireweedTesting", dependencies: ["Fireweed", "COpenSSL", "CNghttp2"], swiftSettings: settings),
        // Apart from the rest: what imports Testing needs its library where it runs.
        .target(name: "FireweedTestingTraits", dependencies: ["FireweedTesting"], swiftSettings: settings),
        .target(name: "FireweedFleet", dependencies: ["Fireweed", "FireweedTransport"], swiftSettings: settings),
        // Bridges: each is an empty module without its trait.
        .target(
            name: "FireweedHTTPTypes",
            dependencies: ["Fireweed", "FireweedTransport", bridged("HTTPTypes", of: "swift-http-types", "HTTPTypes")],
            path: "Sources/Bridges/FireweedHTTPTypes", swiftSettings: settings),
        .target(
            name: "FireweedOpenAPI",
            dependencies: [
                "Fireweed", "FireweedTransport", "FireweedHTTPTypes",
                bridged("HTTPTypes", of: "swift-http-types", "OpenAPI"),
                bridged("OpenAPIRuntime", of: "swift-openapi-runtime", "OpenAPI"),
            ],
            path: "Sources/Bridges/FireweedOpenAPI", swiftSettings: settings),
        .target(
            name: "FireweedLifecycle",
            dependencies: [
                "Fireweed", bridged("ServiceLifecycle", of: "swift-service-lifecycle", "ServiceLifecycle"),
            ],
            path: "Sources/Bridges/FireweedLifecycle", swiftSettings: settings),
        .target(
            name: "FireweedTracing",
            dependencies: [
                "Fireweed", "FireweedTransport",
                bridged("Tracing", of: "swift-distributed-tracing", "DistributedTracing"),
            ],
            path: "Sources/Bridges/FireweedTracing", swiftSettings: settings),
        .target(
            name: "FireweedMetrics",
            dependencies: [
                "Fireweed", "FireweedTransport", bridged("CoreMetrics", of: "swift-metrics", "SwiftMetrics"),
            ],
            path: "Sources/Bridges/FireweedMetrics", swiftSettings: settings),
        .target(
            name: "FireweedLogging",
            dependencies: [
                "Fireweed", "FireweedTransport", bridged("Logging", of: "swift-log", "SwiftLog"),
                bridged("ServiceContextModule", of: "swift-service-context", "SwiftLog"),
            ],
            path: "Sources/Bridges/FireweedLogging", swiftSettings: settings),
        .target(
            name: "FixtureServer",
            dependencies: ["FireweedTesting", "FixtureEndpoints", "CLinux", "CMicrohttpd", "CZlib"],
            path: "Sources/Development/FixtureServer",
            swiftSettings: settings),
        // What `fireweed serve` and the tests' server answer.
        .target(
            name: "FixtureEndpoints", dependencies: ["FireweedTesting", "CZlib", optional("CZstd", "Zstd")],
            path: "Sources/Command/FixtureEndpoints", swiftSettings: settings),
        .target(name: "CommandLanguage", path: "Sources/Command/CommandLanguage", swiftSettings: settings),
        .executableTarget(
            name: "FireweedCLI",
            dependencies: [
                "Fireweed", "FireweedFleet", "FireweedTesting", "FixtureEndpoints", "CommandLanguage", "CLinux",
            ],
            path: "Sources/Command/FireweedCLI",
            swiftSettings: settings),
        .executableTarget(
            name: "FireweedChaos",
            dependencies: ["Fireweed", "FireweedTesting", "FixtureServer", "CAllocationCount"],
            path: "Sources/Development/FireweedChaos",
            swiftSettings: settings),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Fireweed", "FireweedFleet", "FireweedTesting", "FireweedTransport", "JSONTape", "CommandLanguage",
            ],
            path: "Fuzz/Targets",
            swiftSettings: settings),
        .executableTarget(
            name: "FireweedFuzz", dependencies: ["FuzzTargets"], path: "Fuzz/Runner", swiftSettings: settings),

        .target(name: "CAllocationCount", path: "Sources/Development/CAllocationCount"),
        // No target depends on these programs: their code would be linked into the tests, and with it the `malloc` that
        // counts. They are built with everything else of the package.
        .executableTarget(
            name: "TestPrograms",
            dependencies: [
                "Fireweed", "FireweedFleet", "FireweedTesting", "COpenSSL", optional("CSQLite", "SQLite"),
                "CAllocationCount",
            ],
            path: "Tests/TestPrograms", swiftSettings: settings),
        .testTarget(
            name: "FireweedTransportTests",
            dependencies: ["FireweedTransport", "FireweedTesting", "FixtureServer"],
            swiftSettings: settings),
        .testTarget(name: "JSONTapeTests", dependencies: ["JSONTape"], swiftSettings: settings),
        .testTarget(
            name: "FireweedTests",
            dependencies: ["Fireweed", "FireweedTesting", "FixtureServer", "FuzzTargets"],
            swiftSettings: settings),
        .testTarget(
            name: "FireweedTestingTests", dependencies: ["FireweedTesting", "FireweedTestingTraits"],
            exclude: ["Documentation/Recordings", "Traits/Recordings"], swiftSettings: settings),
        .testTarget(
            name: "FireweedFleetTests",
            dependencies: ["FireweedFleet", "FireweedTesting", "FixtureServer"],
            swiftSettings: settings),
        .testTarget(
            name: "FixtureServerTests",
            dependencies: ["FixtureServer"],
            swiftSettings: settings),
        .testTarget(
            name: "FireweedCLITests",
            dependencies: ["FireweedCLI", "FixtureServer", "CommandLanguage"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// A program for a build without traits, which `make slim` makes.
if Context.environment["FIREWEED_SLIM"] != nil {
    package.targets += [
        .executableTarget(
            name: "Slim", dependencies: ["Fireweed", "FireweedFleet", "FireweedTesting"], path: "Tests/Slim",
            swiftSettings: settings)
    ]
}

// The tests of the bridges instead of all others, which `make bridges` builds with every trait.
if Context.environment["FIREWEED_BRIDGES"] != nil {
    package.targets.removeAll { [.test, .executable].contains($0.type) }
    package.products.removeAll { $0.name == "fireweed" }
    package.targets += [
        .testTarget(
            name: "FireweedHTTPTypesTests",
            dependencies: [
                "FireweedHTTPTypes", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("HTTPTypes", of: "swift-http-types", "HTTPTypes"),
            ],
            path: "Tests/Bridges/FireweedHTTPTypesTests", swiftSettings: settings),
        .testTarget(
            name: "FireweedOpenAPITests",
            dependencies: [
                "FireweedOpenAPI", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("HTTPTypes", of: "swift-http-types", "OpenAPI"),
                bridged("OpenAPIRuntime", of: "swift-openapi-runtime", "OpenAPI"),
            ],
            path: "Tests/Bridges/FireweedOpenAPITests", swiftSettings: settings),
        .testTarget(
            name: "FireweedLifecycleTests",
            dependencies: [
                "FireweedLifecycle", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("ServiceLifecycle", of: "swift-service-lifecycle", "ServiceLifecycle"),
                bridged("ServiceLifecycleTestKit", of: "swift-service-lifecycle", "ServiceLifecycle"),
                bridged("Logging", of: "swift-log", "ServiceLifecycle"),
            ],
            path: "Tests/Bridges/FireweedLifecycleTests", swiftSettings: settings),
        .testTarget(
            name: "FireweedTracingTests",
            dependencies: [
                "FireweedTracing", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("Tracing", of: "swift-distributed-tracing", "DistributedTracing"),
                bridged("InMemoryTracing", of: "swift-distributed-tracing", "DistributedTracing"),
            ],
            path: "Tests/Bridges/FireweedTracingTests", swiftSettings: settings),
        .testTarget(
            name: "FireweedMetricsTests",
            dependencies: [
                "FireweedMetrics", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("CoreMetrics", of: "swift-metrics", "SwiftMetrics"),
                bridged("MetricsTestKit", of: "swift-metrics", "SwiftMetrics"),
            ],
            path: "Tests/Bridges/FireweedMetricsTests", swiftSettings: settings),
        .testTarget(
            name: "FireweedLoggingTests",
            dependencies: [
                "FireweedLogging", "Fireweed", "FireweedTransport", "FireweedTesting", "FixtureServer",
                bridged("Logging", of: "swift-log", "SwiftLog"),
                bridged("InMemoryLogging", of: "swift-log", "SwiftLog"),
                bridged("ServiceContextModule", of: "swift-service-context", "SwiftLog"),
            ],
            path: "Tests/Bridges/FireweedLoggingTests", swiftSettings: settings),
    ]
}

// The benchmarks measure libcurl beside Fireweed. `make bench` installs its headers.
if Context.environment["FIREWEED_BENCH"] != nil {
    package.targets += [
        .executableTarget(
            name: "FireweedBench",
            dependencies: [
                "Fireweed", "FireweedMetrics", "FireweedTracing", "FireweedTesting", "FixtureServer", "CBareLoop",
                bridged("Tracing", of: "swift-distributed-tracing", "DistributedTracing"),
            ],
            path: "Sources/Development/FireweedBench",
            swiftSettings: settings),
        .target(
            name: "CBareLoop", path: "Sources/Development/CBareLoop", linkerSettings: [.linkedLibrary("curl")]),
    ]
}
