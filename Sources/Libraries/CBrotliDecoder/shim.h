#pragma once
#if !__has_include(<brotli/decode.h>)
#error "a header is missing: apt-get install libbrotli-dev"
#endif
#include <brotli/decode.h>
