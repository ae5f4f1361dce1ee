/* SPDX-License-Identifier: MIT */
/* Descriptor numbers that the kernel has just returned, and closing them. */
#ifndef NUMBER_H
#define NUMBER_H

/*
 * What libweft knows of that number is void: it may have been closed unseen.
 * Negative: nothing. Returns it; errno is kept.
 */
int number_is_new(int fd);

#endif
