/* SPDX-License-Identifier: MIT */
/* A thread with a table of descriptors of its own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "os.h"
#include "t.h"

static int ends[2], result;
static pthread_barrier_t step;

static void *
unshare(void *arg)
{
	(void)arg;
	result = os_fds_unshare();
	if (result == 0) {
		EQ(write(ends[1], "x", 1), -1);
		EQ(errno, EBADF);
		EQ(open("/dev/null", O_RDONLY), 0);
	}
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return NULL;
}

TEST(own_table)
{
	pthread_t t;
	char c;

	EQ(pipe(ends), 0);
	EQ(pthread_barrier_init(&step, NULL, 2), 0);
	EQ(pthread_create(&t, NULL, unshare, NULL), 0);
	pthread_barrier_wait(&step);
	if (result == 0) {
		EQ(write(ends[1], "y", 1), 1);
		EQ(read(ends[0], &c, 1), 1);
		/* The thread has no copy: this is the end of the file. */
		EQ(close(ends[1]), 0);
		EQ(read(ends[0], &c, 1), 0);
	}
	pthread_barrier_wait(&step);
	pthread_join(t, NULL);
	if (result != 0)
		t_skip("no table of its own for a thread");
}
