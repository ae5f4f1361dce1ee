/* SPDX-License-Identifier: MIT */
/* What the program serves, and its test of itself; see main.c. */
#ifndef HTTP_SITE_H
#define HTTP_SITE_H

#include "http.h"

/*
 * A handler. /hello says hello, and so does / without a folder; /echo gives a
 * body back; /count?n is n lines in chunks; /metrics what weft counted;
 * /wait?ms takes its time; the rest are the files below the folder whose name
 * is `arg`, if that is not NULL.
 */
void site(struct http *h, const struct http_request *r, void *arg);
/* The same, with http_static_links. */
void site_links(struct http *h, const struct http_request *r, void *arg);

/* Serves on loopback and asks itself: 0 if all is well. */
int selftest(void);

#endif
