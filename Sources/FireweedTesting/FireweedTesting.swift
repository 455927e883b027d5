// Re-export of Fireweed: tests need only `import FireweedTesting`.

@_exported public import Fireweed
