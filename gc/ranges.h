/* SPDX-License-Identifier: MIT */
#ifndef WEFT_RANGES_H
#define WEFT_RANGES_H

/* All are stopped: libgc is to mark from what the program has added. */
void ranges_push(void);

#endif
