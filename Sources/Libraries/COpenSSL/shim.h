// What Swift cannot call in OpenSSL 3: its macros and typed stacks, one typed shim each.
#pragma once
#if !__has_include(<openssl/bio.h>)
#error "a header is missing: apt-get install libssl-dev"
#endif
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
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
static inline long fw_ssl_ctx_set_maximum_version(SSL_CTX *_Nonnull context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}

// Renegotiation would ask a verifier about a connection that has long gone to other transfers.
static const uint64_t fw_ssl_no_renegotiation = SSL_OP_NO_RENEGOTIATION;

static inline void *_Nullable fw_ssl_of_verification(X509_STORE_CTX *_Nonnull context) {
    return X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
}
static inline long fw_ssl_ctx_request_status(SSL_CTX *_Nonnull context,
                                             int (*_Nonnull function)(SSL *_Nullable, void *_Nullable),
                                             void *_Nonnull owner) {
    return SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp) &&
           SSL_CTX_set_tlsext_status_cb(context, function) && SSL_CTX_set_tlsext_status_arg(context, owner);
}
static inline long fw_ssl_status(SSL *_Nonnull ssl, const unsigned char *_Nullable *_Nonnull bytes) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}

static inline int fw_strings_count(const STACK_OF(OPENSSL_STRING) *_Nullable strings) {
    return sk_OPENSSL_STRING_num(strings);
}
static inline const char *_Nullable fw_strings_at(const STACK_OF(OPENSSL_STRING) *_Nonnull strings, int index) {
    return sk_OPENSSL_STRING_value(strings, index);
}
static inline int fw_points_count(const CRL_DIST_POINTS *_Nullable points) { return sk_DIST_POINT_num(points); }
static inline DIST_POINT *_Nullable fw_points_at(const CRL_DIST_POINTS *_Nonnull points, int index) {
    return sk_DIST_POINT_value(points, index);
}
static inline STACK_OF(X509_CRL) *_Nullable fw_crl_stack_new(void) { return sk_X509_CRL_new_null(); }
// The stack does not take a reference of its own.
static inline int fw_crl_stack_push(STACK_OF(X509_CRL) *_Nonnull stack, X509_CRL *_Nonnull list) {
    return sk_X509_CRL_push(stack, list);
}
static inline void fw_crl_stack_free(STACK_OF(X509_CRL) *_Nullable stack) { sk_X509_CRL_free(stack); }

// A place in every `SSL_CTX` for an owner, who outlives it.
static inline int fw_ssl_ctx_index(void) { return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

static inline long fw_ssl_ctx_set_minimum_version(SSL_CTX *_Nonnull context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline void fw_ssl_ctx_set_mode(SSL_CTX *_Nonnull context, long mode) { SSL_CTX_set_mode(context, mode); }
static inline void fw_ssl_ctx_set_cache_mode(SSL_CTX *_Nonnull context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}
// A place in every `SSL` for an owner, who holds the `SSL`.
static inline int fw_ssl_index(void) { return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL); }
static inline long fw_ssl_set_host_name(SSL *_Nonnull ssl, const char *_Nonnull name) {
    return SSL_set_tlsext_host_name(ssl, name);
}
static inline long fw_ssl_request_status(SSL *_Nonnull ssl) {
    return SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
}
static inline void fw_ssl_retry_verify(SSL *_Nonnull ssl) { (void)SSL_set_retry_verify(ssl); }
static inline long fw_ssl_add_chain(SSL *_Nonnull ssl, X509 *_Nonnull certificate) {
    return SSL_add1_chain_cert(ssl, certificate);
}
static inline long fw_ssl_clear_chain(SSL *_Nonnull ssl) { return SSL_clear_chain_certs(ssl); }
static inline void fw_bio_set_retry_read(BIO *_Nonnull bio) { BIO_set_retry_read(bio); }
static inline void fw_bio_clear_retry(BIO *_Nonnull bio) { BIO_clear_retry_flags(bio); }
