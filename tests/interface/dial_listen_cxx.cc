// SPDX-License-Identifier: MIT
// Dialling and listening from C++: options by name, and none.
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

GTEST(options_by_name, 2)
{
	int fd = weft_listen_with("tcp", "127.0.0.1:0", .backlog = 5,
	    .reuse_port = true);
	char text[WEFT_ADDRESS_TEXT], c = 'c';
	weft_address a[2];
	int from, to;

	OK(fd >= 0);
	weft_local_address(fd, text, sizeof text);
	from = weft_dial_with("tcp", text, .until = weft_deadline(50 * WEFT_SECOND),
	    .keepalive = -1);
	to = weft_accept(fd, NULL, NULL);
	OK(from >= 0 && to >= 0);
	EQ(weft_write(from, &c, 1), 1);
	EQ(weft_read(to, &c, 1), 1);
	EQ(c, 'c');
	EQ(weft_resolve("tcp", text, a, 2, NULL, 0), 1);
	EQ(weft_resolve_with("tcp", text, a, 2, .until = 1), -ETIMEDOUT);
	weft_close(to);
	weft_close(from);
	from = socket(a[0].family, a[0].type, a[0].protocol);
	EQ(weft_connect(from, weft_address_get(&a[0]), a[0].len), 0);
	weft_close(from);
	from = weft_dial("tcp", text);
	OK(from >= 0);
	weft_close(from);
	weft_close(fd);
}

GTEST(options_in_a_variable, 1)
{
	weft_dial_options none = weft_dial_options(), soon = none;
	weft_listen_options wide = weft_listen_options();
	int fd = weft_listen_opt("tcp", "127.0.0.1:0", &wide, sizeof wide);
	char text[WEFT_ADDRESS_TEXT];
	int to;

	soon.until = 1;
	weft_local_address(fd, text, sizeof text);
	to = weft_dial_opt("tcp", text, &none, sizeof none);
	OK(to >= 0);
	EQ(weft_dial_opt("tcp", text, &soon, sizeof soon), -ETIMEDOUT);
	weft_close(to);
	weft_close(fd);
}
