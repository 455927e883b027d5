// The traits of the package that this program needs.

#if !SQLite
#error("FireweedChaos needs the trait SQLite: build it with the default traits")
#endif
