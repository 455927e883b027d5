// A command line, understood.

import Fireweed
import Foundation

/// What the command is asked to do.
struct Invocation: Sendable, Equatable {
    /// The task.
    enum Task: Sendable, Equatable {
        case request
        case serve(port: UInt16)
        case webSocket
        case status(host: String?)
        case help
        case version
    }

    /// How data items become content.
    enum BodyForm: Sendable {
        case json, form
    }

    /// The format of a client certificate's file.
    enum CertificateType: String, Sendable {
        case pem, p12
    }

    /// How credentials are shown.
    enum AuthenticationType: String, Sendable, CaseIterable {
        case basic, digest, bearer, negotiate, ntlm
    }

    var task = Task.request
    var method: String?
    var url = ""
    var items: [Item] = []
    var bodyForm = BodyForm.json
    var rawBody: String?
    var uploadFile: String?
    var print: String?
    var outputFile: String?
    /// Save content whatever the status is.
    var savesAnyStatus = false
    var ignoresStandardInput = false
    var isDownload = false
    var goesOn = false
    var isStreamed = false
    var timeout = 60.0
    var followsRedirects = true
    var checksStatus = false
    var isInsecure = false
    var authorityFile: String?
    var certificateFile: String?
    var keyFile: String?
    var certificateType: CertificateType?
    var minimumTLSVersion: TLSVersion?
    var pins: [String] = []
    var showsCertificates = false
    var proxy: String?
    var speaksHTTP1Only = false
    var showsTiming = false
    var isVerbose = false
    var usesCache = false
    /// Print the request as a curl command, and send nothing.
    var printsCURL = false
    /// A curl command in the place of URL and items.
    var curlCommand: String?
    /// `USER:PASSWORD`, or a token.
    var authentication: String?
    var authenticationType: AuthenticationType?
    var usesNetrc = false
    /// The name of a session that is kept between runs, or the path of its file.
    var sessionName: String?
    var archiveFile: String?
    var retryCount: UInt = 0
    var maximumRedirectCount: Int?
    var sendsBinary = false
    var subprotocol: String?
    var pingInterval: Double?
    var compresses = false
    var quietTime = 0.5
    var watches = false

    /// Whether `--output` names standard output, which is written to directly.
    var writesToStandardOutput: Bool {
        outputFile.map { ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains($0) } ?? false
    }

    /// Whether the response's content goes to a file.
    var savesToFile: Bool {
        !writesToStandardOutput && (isDownload || goesOn || outputFile != nil)
    }

    /// The method to send: as given, else POST for requests with content, else GET.
    var effectiveMethod: String {
        method ?? (rawBody != nil || uploadFile != nil || items.contains(where: \.isData) ? "POST" : "GET")
    }
}

/// A command line that cannot be understood, in one sentence.
struct UsageError: Error, Equatable {
    let message: String
}
