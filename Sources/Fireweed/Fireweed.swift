// Types of other modules that come with Fireweed: requests, responses, and the transport's options.

@_exported public import FireweedTransport
@_exported public import FoundationNetworking
