// What the program is linked with in the place of libcurl.
//
// Foundation's URLSession is part of a static program, and it calls libcurl, which would bring some thirty shared
// libraries with it. Fireweed never starts a transfer of URLSession: it shows monitors and delegates sessions and tasks
// of its types. Sessions can be made and released here. Whatever would begin a transfer ends the program and says why.
//
// A function of libcurl that is missing here fails the link.
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void end(const char *function) {
    fprintf(stderr, "fireweed: Foundation's URLSession called %s, and this program has no libcurl\n", function);
    abort();
}

// A session makes a multi handle, and sets two callbacks with their contexts.
int curl_global_init(long flags) { return 0; }
void *curl_multi_init(void) { return malloc(1); }
int curl_multi_setopt(void *multi, int option, ...) { return 0; }
int curl_multi_cleanup(void *multi) {
    free(multi);
    return 0;
}

#define REFUSED(function) \
    _Noreturn void function(void) { end(#function); }
REFUSED(curl_easy_cleanup)
REFUSED(curl_easy_getinfo)
REFUSED(curl_easy_init)
REFUSED(curl_easy_pause)
REFUSED(curl_easy_setopt)
REFUSED(curl_easy_strerror)
REFUSED(curl_free)
REFUSED(curl_multi_add_handle)
REFUSED(curl_multi_assign)
REFUSED(curl_multi_info_read)
REFUSED(curl_multi_remove_handle)
REFUSED(curl_multi_socket_action)
REFUSED(curl_slist_append)
REFUSED(curl_slist_free_all)
REFUSED(curl_url)
REFUSED(curl_url_get)
REFUSED(curl_url_set)
REFUSED(curl_version)
REFUSED(curl_version_info)
