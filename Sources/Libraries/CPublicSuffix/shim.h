#pragma once
#if !__has_include(<libpsl.h>)
#error "a header is missing: apt-get install libpsl-dev"
#endif
#include <libpsl.h>
