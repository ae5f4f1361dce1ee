/* SPDX-License-Identifier: MIT */
/* UNIX sockets: by path and by name, their files, old ones in the way. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "listener.h"

static char dir[64];

/* A path in a folder of this test's own. */
static const char *
in_dir(const char *name)
{
	static char path[4][200];
	static int turn;
	char *p = path[turn = (turn + 1) % 4];

	if (!*dir) {
		strcpy(dir, "/tmp/weft-paths-XXXXXX");
		OK(mkdtemp(dir) != NULL);
	}
	snprintf(p, sizeof path[0], "%s/%s", dir, name);
	return p;
}

static void
clean_up(void)
{
	static const char *const names[] = { "s", "a", "b", "file", "link" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(in_dir(names[i]));
	EQ(rmdir(dir), 0);
	*dir = 0;
}

static int
mode_of(const char *path)
{
	struct stat st = {0};

	EQ(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- connections ---- */

static void
pair_up(const char *network, const char *address)
{
	char text[WEFT_ADDRESS_TEXT];
	int listener = weft_listen(network, address);
	int fd = weft_dial(network, address), got;

	OK(listener >= 0 && fd >= 0);
	got = weft_accept(listener, NULL, NULL);
	OK(joined(fd, got));
	OK(joined(got, fd));
	OK(is(weft_local_address(listener, text, sizeof text), address));
	OK(is(weft_peer_address(fd, text, sizeof text), address));
	OK(is(weft_local_address(got, text, sizeof text), address));
	OK(is(weft_local_address(fd, text, sizeof text), ""));
	OK(is(weft_peer_address(got, text, sizeof text), ""));
	EQ(weft_local_port(fd), -EAFNOSUPPORT);
	OK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	OK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EQ(weft_listen(network, address), -EADDRINUSE);
	weft_close(fd);
	weft_close(got);
	weft_close(listener);
}

static void
connections(void)
{
	char name[64];

	pair_up("unix", in_dir("a"));
	pair_up("unixpacket", in_dir("b"));
	snprintf(name, sizeof name, "@weft-%d", (int)getpid());
	pair_up("unix", name);
	pair_up("unixpacket", name);
	clean_up();
}

GTEST(by_path_and_name, 2) { leaves_no_fds(connections); }

TEST(by_path_and_name_without_a_runtime) { connections(); }

GTEST(a_name_that_the_system_chooses, 1)
{
	char text[WEFT_ADDRESS_TEXT];
	int listener = weft_listen("unix", "@"), other, fd;

	OK(listener >= 0);
	weft_local_address(listener, text, sizeof text);
	OK(text[0] == '@' && strlen(text) > 1);
	other = weft_listen("unix", "@");
	OK(other >= 0);
	fd = weft_dial("unix", text);
	OK(fd >= 0);
	EQ(weft_dial("unix", "@"), -EINVAL);
	weft_close(fd);
	weft_close(other);
	weft_close(listener);
}

GTEST(datagrams, 1)
{
	int to = weft_listen("unixgram", in_dir("a"));
	int fd = weft_dial_with("unixgram", in_dir("a"),
	    .local = in_dir("b"));
	int none = weft_dial("unixgram", in_dir("a"));
	weft_address a = { .len = WEFT_ADDRESS_BYTES };
	char buf[8], text[WEFT_ADDRESS_TEXT];

	OK(to >= 0 && fd >= 0 && none >= 0);
	EQ(weft_write(fd, "abc", 3), 3);
	EQ(weft_recvfrom(to, buf, sizeof buf, 0, weft_address_get(&a),
	    &a.len), 3);
	OK(is(weft_address_text(weft_address_get(&a), a.len, text,
	    sizeof text), in_dir("b")));
	EQ(weft_sendto(to, "d", 1, 0, weft_address_get(&a), a.len), 1);
	EQ(weft_read(fd, buf, sizeof buf), 1);
	/* A socket without a name cannot be answered. */
	EQ(weft_write(none, "x", 1), 1);
	a.len = WEFT_ADDRESS_BYTES;
	EQ(weft_recvfrom(to, buf, sizeof buf, 0, weft_address_get(&a),
	    &a.len), 1);
	OK(is(weft_address_text(weft_address_get(&a), a.len, text,
	    sizeof text), ""));
	EQ(weft_listen("unixgram", in_dir("a")), -EADDRINUSE);
	EQ(weft_dial("unix", in_dir("a")), -EPROTOTYPE);
	weft_close(fd);
	weft_close(none);
	weft_close(to);
	clean_up();
}

GTEST(no_listener, 1)
{
	int before = open_fds_before(), fd;

	EQ(weft_dial("unix", in_dir("s")), -ENOENT);
	fd = weft_listen("unix", in_dir("s"));
	weft_close(fd);
	EQ(weft_dial("unix", in_dir("s")), -ECONNREFUSED);
	EQ(weft_dial("unix", ""), -EINVAL);
	EQ(weft_listen("unix", ""), -EINVAL);
	EQ(weft_listen("unix", in_dir("none/s")), -ENOENT);
	EQ(weft_listen("unix", "/tmp/"
	    "0123456789012345678901234567890123456789012345678901234567890123"
	    "0123456789012345678901234567890123456789"), -ENAMETOOLONG);
	wait_alone();
	EQ(count_fds(), before);
	clean_up();
}

/* ---- old files ---- */

/* A socket's file that is left of an earlier listener. */
static void
leave_old(const char *network, const char *path)
{
	int fd = weft_listen(network, path);

	OK(fd >= 0);
	weft_close(fd);
	EQ(access(path, F_OK), 0);
}

GTEST(old_ones_are_replaced, 1)
{
	static const char *const networks[] = {
		"unix", "unixgram", "unixpacket"
	};
	int before = open_fds_before();

	for (int i = 0; i < 9; i++) {
		const char *path = in_dir("s");
		int fd;

		unlink(path);
		leave_old(networks[i / 3], path);
		fd = weft_listen(networks[i % 3], path);
		OK(fd >= 0);
		/* It is alive now, and stays. */
		for (int j = 0; j < 3; j++)
			EQ(weft_listen(networks[j], path), -EADDRINUSE);
		weft_close(fd);
	}
	wait_alone();
	EQ(count_fds(), before);
	clean_up();
}

/* One that is busy is not dead. */
GTEST(full_ones_are_not, 2)
{
	int fd = weft_listen_with("unix", in_dir("s"), .backlog = 1);
	int held[3];
	int64_t until;

	for (int i = 0; i < 2; i++)
		held[i] = weft_dial("unix", in_dir("s"));
	OK(held[0] >= 0 && held[1] >= 0);
	EQ(weft_listen("unix", in_dir("s")), -EADDRINUSE);
	until = weft_deadline(20 * WEFT_MS);
	EQ(weft_dial_with("unix", in_dir("s"), .until = until), -ETIMEDOUT);
	OK(weft_now() >= until);
	close_all(held, 2);
	weft_close(fd);
	clean_up();
}

static void
cancel_later(weft_context *ctx)
{
	weft_sleep(20 * WEFT_MS);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

/* A dial that waits for room gets it, or is called off. */
static void
accept_later(int listener)
{
	weft_sleep(10 * WEFT_MS);
	weft_close(weft_accept(listener, NULL, NULL));
	weft_close(listener);
}

GTEST(waiting_for_room, 2)
{
	int before = open_fds_before();
	int fd = weft_listen_with("unix", in_dir("s"), .backlog = 1);
	int held[3];
	weft_context *ctx = weft_context_make(NULL);

	for (int i = 0; i < 2; i++)
		held[i] = weft_dial("unix", in_dir("s"));
	weft_go(cancel_later, weft_context_retain(ctx));
	EQ(weft_dial_with("unix", in_dir("s"), .context = ctx), -ECANCELED);
	weft_context_release(ctx);
	weft_go(accept_later, dup(fd));
	held[2] = weft_dial("unix", in_dir("s"));
	OK(held[2] >= 0);
	close_all(held, 3);
	weft_close(fd);
	wait_alone();
	EQ(count_fds(), before);
	clean_up();
}

GTEST(other_files_are_not, 1)
{
	int fd = open(in_dir("file"), O_CREAT | O_WRONLY, 0600);

	EQ(write(fd, "precious", 8), 8);
	close(fd);
	EQ(weft_listen("unix", in_dir("file")), -EADDRINUSE);
	EQ(weft_listen("unix", dir), -EADDRINUSE);
	EQ(access(in_dir("file"), F_OK), 0);
	/* A link to an old one: not a socket, though what it means is one. */
	leave_old("unix", in_dir("s"));
	EQ(symlink(in_dir("s"), in_dir("link")), 0);
	EQ(weft_listen("unix", in_dir("link")), -EADDRINUSE);
	EQ(access(in_dir("link"), F_OK), 0);
	clean_up();
}

/* ---- modes ---- */

static void
mode_becomes(mode_t mask, mode_t mode, int expected)
{
	const char *path = in_dir("s");
	int fd;

	umask(mask);
	fd = weft_listen_with("unix", path, .mode = mode);
	OK(fd >= 0);
	EQ(mode_of(path), expected);
	weft_close(fd);
	unlink(path);
}

GTEST(mode, 1)
{
	int fd;

	mode_becomes(022, 0, 0755);
	mode_becomes(077, 0, 0700);
	mode_becomes(022, 0600, 0600);
	mode_becomes(022, 0666, 0666);
	mode_becomes(077, 0660, 0660);
	mode_becomes(0777, 0777, 0777);
	mode_becomes(0, 0200, 0200);
	umask(022);
	/* One that replaces an old one has its own, too. */
	leave_old("unix", in_dir("s"));
	fd = weft_listen_with("unix", in_dir("s"), .mode = 0640);
	EQ(mode_of(in_dir("s")), 0640);
	weft_close(fd);
	/* A name has none. */
	fd = weft_listen_with("unix", "@", .mode = 0640);
	OK(fd >= 0);
	weft_close(fd);
	clean_up();
}
