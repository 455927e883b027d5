// The traits of the package that this program needs.

#if !SQLite
#error("The command fireweed needs the trait SQLite: build it with the default traits")
#endif
