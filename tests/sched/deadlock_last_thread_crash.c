/* SPDX-License-Identifier: MIT */
/* Another thread could have woken a goroutine, and is gone. */
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_waitgroup wg;

PLAIN_THREAD(wake, weft_waitgroup_done(&wg))

/* All were asleep once before, while the thread was there. */
DIES(joined, 2, "no goroutines left")
{
	pthread_t t;

	if (t_emulated())
		t_skip("an emulator does not count threads");
	weft_waitgroup_add(&wg, 1);
	pthread_create(&t, NULL, wake, NULL);
	weft_waitgroup_wait(&wg);
	pthread_join(t, NULL);
	weft_goexit();
}
