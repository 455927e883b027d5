#pragma once
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// A macro that Swift does not see: `CN = a, O = b` on one line.
static const unsigned long fw_name_one_line = XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB;
