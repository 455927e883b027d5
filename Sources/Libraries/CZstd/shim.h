#pragma once
#if !__has_include(<zstd.h>)
#error "a header is missing: apt-get install libzstd-dev"
#endif
#include <zstd.h>
