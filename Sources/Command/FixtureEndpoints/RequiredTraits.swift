// The traits of the package that this library needs.

#if !Zstd
#error("FixtureEndpoints needs the trait Zstd: build it with the default traits")
#endif
