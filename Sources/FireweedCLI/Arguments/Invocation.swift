// A command line, understood.

import Foundation

/// What the command is asked to do.
struct Invocation: Sendable, Equatable {
    /// The task.
    enum Task: Sendable, Equatable {
        case request
        case serve(port: UInt16)
        case help
        case version
    }

    /// How data items become content.
    enum BodyForm: Sendable {
        case json, form
    }

    var task = Task.request
    var method: String?
    var url = ""
    var items: [Item] = []
    var bodyForm = BodyForm.json
    var rawBody: String?
    var print: String?
    var outputFile: String?
    var isDownload = false
    var timeout = 60.0
    var followsRedirects = true
    var checksStatus = false
    var isInsecure = false
    var authorityFile: String?
    var proxy: String?
    var speaksHTTP1Only = false
    var showsTiming = false
    var isVerbose = false
    var usesCache = false

    /// The method to send: as given, else POST for requests with content, else GET.
    var effectiveMethod: String {
        method ?? (rawBody != nil || items.contains(where: \.isData) ? "POST" : "GET")
    }
}

/// A command line that cannot be understood, in one sentence.
struct UsageError: Error, Equatable {
    let message: String
}
