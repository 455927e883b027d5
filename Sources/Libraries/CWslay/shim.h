// What Swift does not see of wslay: constants whose bits are computed by macros.
#pragma once
#if !__has_include(<wslay/wslay.h>)
#error "a header is missing: apt-get install libwslay-dev"
#endif
#include <wslay/wslay.h>

static const uint8_t fw_wslay_rsv1 = WSLAY_RSV1_BIT;
static const uint8_t fw_wslay_rsv_none = WSLAY_RSV_NONE;
