/* SPDX-License-Identifier: MIT */
/*
 * A service with a flaw, for the pictures of docs/debugging.md: clients send
 * orders through a channel to workers, which look prices up in a table under a
 * mutex. Now and then a goroutine writes the table to disk, and keeps the
 * mutex while it does; with an argument it writes a copy instead.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

enum { CLIENTS = 4, WORKERS = 6, ORDERS = 400, PRICES = 4096, SAVES = 4 };

struct order { int item; uint64_t task; };

static struct {
	weft_mutex lock;
	long price[PRICES];
} table;

static weft_chan *orders;
static weft_waitgroup done;
static long total;
static bool copies;

/* As much work as a small computation takes. */
static void
compute(long *x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		*x = *x * 6364136223846793005 + 1442695040888963407;
}

static long
price_of(int item)
{
	long price;

	weft_mutex_lock(&table.lock);
	price = table.price[item % PRICES];
	weft_mutex_unlock(&table.lock);
	return price;
}

static void
worker(void)
{
	struct order o;

	while (weft_chan_recv(orders, &o)) {
		long x;

		weft_trace_region_begin("price", o.task);
		x = price_of(o.item);
		weft_trace_region_end();
		compute(&x, 20000);
		__atomic_fetch_add(&total, x & 1, __ATOMIC_RELAXED);
		weft_trace_task_end(o.task);
	}
}

static void
client(int number)
{
	for (int i = 0; i < ORDERS; i++) {
		struct order o = { .item = number * 1000 + i };

		o.task = weft_trace_task_begin("order", 0);
		weft_chan_send(orders, &o);
		if (i % 4 == 3)
			weft_sleep(200 * WEFT_US);
	}
}

static void
write_prices(int fd, const long *price)
{
	if (pwrite(fd, price, sizeof table.price, 0) < 0 || fsync(fd))
		perror("orders: save");
}

static void
save_table(int fd)
{
	static long copy[PRICES];

	weft_mutex_lock(&table.lock);
	if (copies)
		memcpy(copy, table.price, sizeof copy);
	else
		write_prices(fd, table.price);
	weft_mutex_unlock(&table.lock);
	if (copies)
		write_prices(fd, copy);
}

static void
saver(int fd)
{
	for (int i = 0; i < SAVES; i++) {
		weft_sleep(9 * WEFT_MS);
		weft_trace_log("save the table", 0);
		save_table(fd);
	}
}

int
weft_main(int argc, char **argv)
{
	weft_opt named = { .name = "worker" };
	char path[] = "/var/tmp/orders-XXXXXX";
	int fd = mkstemp(path);

	(void)argv;
	copies = argc > 1;
	if (fd < 0)
		return 1;
	unlink(path);
	orders = weft_chan_make(sizeof(struct order), 4);
	for (int i = 0; i < WORKERS; i++)
		weft_go_opt(named, worker);
	weft_waitgroup_go(&done, saver, fd);
	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&done, client, i);
	weft_waitgroup_wait(&done);
	weft_chan_close(orders);
	return 0;
}

WEFT_MAIN
