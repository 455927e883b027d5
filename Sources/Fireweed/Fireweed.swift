// What a file that imports Fireweed sees besides it: the types of requests and responses, and the transport's options.

@_exported public import FireweedTransport
@_exported public import FoundationNetworking
