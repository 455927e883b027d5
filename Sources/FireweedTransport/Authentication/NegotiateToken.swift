// Negotiate tokens, from a GSS-API library.

import Glibc

/// Gets a client's first token for the scheme Negotiate (RFC 4559 §4): SPNEGO with the user's Kerberos ticket.
///
/// The library, of MIT or of Heimdal, is loaded for the first token, since few programs need a token, and programs must
/// run without the library. Its functions are those of RFC 2744. They may request the ticket from a Kerberos server,
/// and so block the caller.
enum NegotiateToken {
    /// Returns the token for HTTP at a host; `nil` without a library, or without a ticket for the host.
    static func token(forHost host: String) -> [UInt8]? {
        library?.token(for: "HTTP@\(host)")
    }

    private static let library = GSSLibrary()
}

/// The functions of a GSS-API library.
private struct GSSLibrary: Sendable {
    private typealias ImportName =
        @convention(c) (
            UnsafeMutablePointer<UInt32>, UnsafeRawPointer, UnsafeRawPointer, UnsafeMutablePointer<OpaquePointer?>
        ) -> UInt32
    private typealias InitContext =
        @convention(c) (
            UnsafeMutablePointer<UInt32>, OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?,
            UnsafeRawPointer, UInt32, UInt32, OpaquePointer?, UnsafeRawPointer?, OpaquePointer?,
            UnsafeMutableRawPointer,
            OpaquePointer?, OpaquePointer?
        ) -> UInt32
    private typealias ReleaseBuffer = @convention(c) (UnsafeMutablePointer<UInt32>, UnsafeMutableRawPointer) -> UInt32
    private typealias ReleaseName =
        @convention(c) (
            UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<OpaquePointer?>
        ) -> UInt32
    private typealias DeleteContext =
        @convention(c) (
            UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?
        ) -> UInt32

    private let importName: ImportName
    private let initContext: InitContext
    private let releaseBuffer: ReleaseBuffer
    private let releaseName: ReleaseName
    private let deleteContext: DeleteContext

    /// The object identifier of SPNEGO, 1.3.6.1.5.5.2 (RFC 4178).
    private static let spnego: [UInt8] = [0x2B, 6, 1, 5, 5, 2]
    /// The object identifier of `GSS_C_NT_HOSTBASED_SERVICE`, 1.2.840.113554.1.2.1.4.
    private static let hostBasedService: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 1, 4]
    /// The bits of a status that are set if a call failed (RFC 2744 §3.9.1).
    private static let errorMask: UInt32 = 0xFFFF_0000

    /// Loads the library; `nil` if none is installed.
    init?() {
        let names = ["libgssapi_krb5.so.2", "libgssapi.so.3"]
        let handles = names.lazy.compactMap { (name: String) in dlopen(name, RTLD_NOW | RTLD_LOCAL) }
        guard let handle = handles.first, let importName = dlsym(handle, "gss_import_name"),
            let initContext = dlsym(handle, "gss_init_sec_context"),
            let releaseBuffer = dlsym(handle, "gss_release_buffer"),
            let releaseName = dlsym(handle, "gss_release_name"),
            let deleteContext = dlsym(handle, "gss_delete_sec_context")
        else { return nil }
        self.importName = unsafeBitCast(importName, to: ImportName.self)
        self.initContext = unsafeBitCast(initContext, to: InitContext.self)
        self.releaseBuffer = unsafeBitCast(releaseBuffer, to: ReleaseBuffer.self)
        self.releaseName = unsafeBitCast(releaseName, to: ReleaseName.self)
        self.deleteContext = unsafeBitCast(deleteContext, to: DeleteContext.self)
    }

    /// Returns the first token for a service, such as `HTTP@www.example.com`; `nil` if there is none.
    func token(for service: String) -> [UInt8]? {
        var minor: UInt32 = 0
        var name = name(of: service)
        guard name != nil else { return nil }
        defer { _ = releaseName(&minor, &name) }
        var context: OpaquePointer?
        var output = Described(count: 0, bytes: nil)
        // Without mutual authentication, the client sends only one token. Only TLS authenticates the server.
        let status = Self.withDescription(of: Self.spnego) { mechanism in
            initContext(&minor, nil, &context, name, mechanism, 0, 0, nil, nil, nil, &output, nil, nil)
        }
        defer {
            _ = releaseBuffer(&minor, &output)
            _ = deleteContext(&minor, &context, nil)
        }
        guard status & Self.errorMask == 0, output.count > 0, let bytes = output.bytes else { return nil }
        return Array(UnsafeRawBufferPointer(start: bytes, count: output.count))
    }

    private func name(of service: String) -> OpaquePointer? {
        var minor: UInt32 = 0
        var name: OpaquePointer?
        let status = Self.withDescription(of: Self.hostBasedService) { kind in
            Self.withDescription(of: Array(service.utf8)) { importName(&minor, $0, kind, &name) }
        }
        return status & Self.errorMask == 0 ? name : nil
    }

    /// A count and a pointer, each the size of a machine word, as in `gss_buffer_desc` and `gss_OID_desc`.
    ///
    /// The count of a `gss_OID_desc` has only 32 bits. It is the lower half of the word, since the machine is
    /// little-endian.
    private struct Described {
        var count: Int
        var bytes: UnsafeMutableRawPointer?
    }

    private static func withDescription<Result>(of bytes: [UInt8], _ body: (UnsafeRawPointer) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { bytes in
            var described = Described(count: bytes.count, bytes: bytes.baseAddress)
            return withUnsafePointer(to: &described) { body(UnsafeRawPointer($0)) }
        }
    }
}
