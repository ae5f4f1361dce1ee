/* SPDX-License-Identifier: MIT */
/* Values of pthread keys that belong to goroutines: see key.c. */
#ifndef KEY_H
#define KEY_H

/* A goroutine ends that has this record, a struct goroutine. */
void key_goroutine_ends(void *g);

#endif
