/* SPDX-License-Identifier: MIT */
/* Between the files of commands: command.c, string.c, expire.c, report.c. */
#ifndef REDIS_COMMAND_H
#define REDIS_COMMAND_H

#include "server.h"

/*
 * A command. `arity`: how many arguments, the name included; if it is negative
 * at least so many. Keys are the arguments first, first + step, ... last, where
 * a negative last counts from the end; 0: it has none.
 */
struct command {
	const char *name;
	void (*run)(struct client *c, const struct request *r);
	int arity;
	const char *flags;	/* as COMMAND says, separated by blanks */
	int first, last, step;
};

/* The i-th command of the table; NULL: there are no more. */
const struct command *command_at(size_t i);
const struct command *command_find(struct slice name);

#define COMMAND(name) \
	void name(struct client *c, const struct request *r)

/* string.c: keys and values */
COMMAND(cmd_get);
COMMAND(cmd_set);
COMMAND(cmd_mget);
COMMAND(cmd_mset);
COMMAND(cmd_incr);
COMMAND(cmd_decr);
COMMAND(cmd_incrby);
COMMAND(cmd_decrby);
COMMAND(cmd_del);
COMMAND(cmd_exists);
/* expire.c: times */
COMMAND(cmd_expire);
COMMAND(cmd_pexpire);
COMMAND(cmd_ttl);
COMMAND(cmd_pttl);
COMMAND(cmd_persist);
/* report.c: about the server */
COMMAND(cmd_command);
COMMAND(cmd_config);
COMMAND(cmd_info);
COMMAND(cmd_dbsize);
COMMAND(cmd_flush);

/*
 * When a time from now is over, by store_now_ms: `unit_ms` is 1000 or 1. False:
 * no number, too far away, or not in the future where it must be; then the
 * error has been replied.
 */
bool expire_parse(struct client *c, struct slice text, int unit_ms,
    bool future, const char *command, int64_t *when);

void reply_syntax(struct client *c);
void reply_not_integer(struct client *c);
void reply_full(struct client *c);

#endif
