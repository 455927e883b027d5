// What Swift cannot call in OpenSSL 3: its macros and typed stacks, one typed shim each.
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

static inline int fw_x509_stack_count(const STACK_OF(X509) *_Nullable stack) { return sk_X509_num(stack); }
static inline X509 *_Nullable fw_x509_stack_at(const STACK_OF(X509) *_Nonnull stack, int index) {
    return sk_X509_value(stack, index);
}
static inline STACK_OF(X509) *_Nullable fw_x509_stack_new(void) { return sk_X509_new_null(); }
// The stack does not take a reference of its own.
static inline int fw_x509_stack_push(STACK_OF(X509) *_Nonnull stack, X509 *_Nonnull certificate) {
    return sk_X509_push(stack, certificate);
}
static inline void fw_x509_stack_free(STACK_OF(X509) *_Nullable stack) { sk_X509_free(stack); }
static inline void fw_x509_stack_free_all(STACK_OF(X509) *_Nullable stack) { sk_X509_pop_free(stack, X509_free); }

static inline int fw_general_names_count(const GENERAL_NAMES *_Nullable names) { return sk_GENERAL_NAME_num(names); }
static inline GENERAL_NAME *_Nullable fw_general_names_at(const GENERAL_NAMES *_Nonnull names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}

// A macro that Swift does not see: `CN = a, O = b` on one line.
static const unsigned long fw_name_one_line = XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB;
static inline long fw_bio_bytes(BIO *_Nonnull memory, char *_Nullable *_Nonnull bytes) {
    return BIO_get_mem_data(memory, bytes);
}

static inline long fw_ssl_ctx_add_chain(SSL_CTX *_Nonnull context, X509 *_Nonnull certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}
static inline long fw_ssl_ctx_clear_chain(SSL_CTX *_Nonnull context) { return SSL_CTX_clear_chain_certs(context); }
static inline long fw_ssl_ctx_set_maximum_version(SSL_CTX *_Nonnull context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}
