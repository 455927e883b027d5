#pragma once
#if !__has_include(<nghttp2/nghttp2.h>)
#error "a header is missing: apt-get install libnghttp2-dev"
#endif
#include <nghttp2/nghttp2.h>
