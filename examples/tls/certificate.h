/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLE_CERTIFICATE_H
#define EXAMPLE_CERTIFICATE_H

/* A certificate for this name, signed by itself, and its key: PEM, to be freed.
 * False if OpenSSL refuses. */
_Bool certificate_make(const char *name, char **cert, char **key);

#endif
