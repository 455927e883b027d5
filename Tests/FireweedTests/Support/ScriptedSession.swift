// Sessions without a wire.

import Fireweed
import Foundation

extension Session {
    /// A session whose responses have the status that `status` gives for a message, and no content.
    ///
    /// Kept alive by `keeper`: requests end with their session.
    static func scripted(
        keptBy keeper: ProtectedList<Session>, interceptor: (any RequestInterceptor)? = nil,
        eventMonitors: [any EventMonitor] = [],
        status: @escaping @Sendable (RequestMessage) -> Int
    ) -> Session {
        scripted(keptBy: keeper, interceptor: interceptor, eventMonitors: eventMonitors) { message in
            [.head(ResponseHead(status: status(message), fields: []))]
        }
    }

    /// A session that plays a script for each message, kept alive by `keeper`.
    static func scripted(
        keptBy keeper: ProtectedList<Session>, interceptor: (any RequestInterceptor)? = nil,
        eventMonitors: [any EventMonitor] = [],
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action]
    ) -> Session {
        let session = Session(
            transport: ScriptedTransport(answer: answer), configuration: .af.ephemeral, interceptor: interceptor,
            eventMonitors: eventMonitors)
        keeper.append(session)
        return session
    }
}

extension RequestMessage {
    /// The number of the token in the `Authorization` field.
    var token: Int? {
        fields.fields.first { $0.name == "Authorization" }.flatMap { Int($0.value.dropFirst("token ".count)) }
    }
}

extension DataRequest {
    /// The status of the response, with failures by status turned on; `nil` when there was none or it was a failure.
    var validatedStatus: Int? {
        get async {
            let response = await validate(statusCode: 200..<300).serializingData(emptyResponseCodes: [200, 204])
                .response
            return response.error == nil ? response.response?.statusCode : nil
        }
    }

    /// The error that the request ends with, failures by status turned on.
    var finalError: AFError? {
        get async {
            await validate(statusCode: 200..<300).serializingData(emptyResponseCodes: [200, 204]).response.error
        }
    }
}
