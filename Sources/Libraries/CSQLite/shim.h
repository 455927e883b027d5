#pragma once
#if !__has_include(<sqlite3.h>)
#error "a header is missing: apt-get install libsqlite3-dev"
#endif
#include <sqlite3.h>

// `SQLITE_TRANSIENT` is a cast that Swift cannot import: SQLite copies the bytes before it returns.
static inline int fw_sqlite_bind_text(sqlite3_stmt *_Nonnull statement, int index, const char *_Nonnull text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

static inline int fw_sqlite_bind_blob(sqlite3_stmt *_Nonnull statement, int index, const void *_Nullable bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                      : sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
