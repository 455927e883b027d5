#pragma once
#if !__has_include(<zlib.h>)
#error "a header is missing: apt-get install zlib1g-dev"
#endif
#include <zlib.h>
