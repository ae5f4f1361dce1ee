/* SPDX-License-Identifier: MIT */
/*
 * libldap and slapd. libldap waits in poll with a mutex of the connection held,
 * so that a goroutine that parks there must come back on its thread; goroutines
 * that share a connection wait for that mutex meanwhile, and the one that reads
 * takes the answers to the others' requests, too.
 */
#include "real_server.h"

#include <ldap.h>

#include <weft.h>
#include <weft/hooks.h>

#include "counter.h"
#include "run_env.h"
#include "t.h"

#define SUFFIX "dc=test"
#define ROOT "cn=root," SUFFIX
#define PASSWORD "secret"

enum {
	CLIENTS = 100, ROUNDS = 5,
	SHARERS = 100, SEARCHES = 10,
	SILENT_MS = 200,
};

/* ---- the server ---- */

static const char slapd_conf[] =
	"include /etc/ldap/schema/core.schema\n"
	"modulepath /usr/lib/ldap\n"
	"moduleload back_mdb\n"
	"pidfile %1$s/pid\n"
	"database mdb\n"
	"suffix \"" SUFFIX "\"\n"
	"rootdn \"" ROOT "\"\n"
	"rootpw " PASSWORD "\n"
	"directory %1$s\n"
	"dbnosync\n";

static void
configure(struct server *s)
{
	char text[1024];

	snprintf(text, sizeof text, slapd_conf, s->folder);
	server_file(s, "conf", text, strlen(text));
	server_words(s->argv, s->path, "-d", "0", "-f",
	    server_printf(s, "%s/conf", s->folder), "-h",
	    server_printf(s, "ldap://127.0.0.1:%d/", s->port[0]), NULL);
}
static struct server slapd = { .program = "slapd", .package = "slapd",
	.configure = configure };
REAL_SERVER(slapd)

/* ---- connections ---- */

static void
is(const char *what, int got, int expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "# %s: %s, not %s\n", what, ldap_err2string(got),
	    ldap_err2string(expected));
	t_fail(__FILE__, __LINE__, "libldap");
}

static LDAP *
open_at(int port)
{
	char uri[64];
	int version = LDAP_VERSION3;
	LDAP *ld = NULL;

	snprintf(uri, sizeof uri, "ldap://127.0.0.1:%d/", port);
	is("initialize", ldap_initialize(&ld, uri), LDAP_SUCCESS);
	is("version", ldap_set_option(ld, LDAP_OPT_PROTOCOL_VERSION, &version),
	    LDAP_SUCCESS);
	return ld;
}

static int
bind_as_root(LDAP *ld, const char *password)
{
	struct berval cred = { strlen(password), (char *)(uintptr_t)password };

	return ldap_sasl_bind_s(ld, ROOT, LDAP_SASL_SIMPLE, &cred, NULL, NULL,
	    NULL);
}

static LDAP *
login(void)
{
	LDAP *ld = open_at(slapd.port[0]);

	is("bind", bind_as_root(ld, PASSWORD), LDAP_SUCCESS);
	return ld;
}

static void
logout(LDAP *ld)
{
	is("unbind", ldap_unbind_ext_s(ld, NULL, NULL), LDAP_SUCCESS);
}

/* ---- entries ---- */

static void
name_of(char *dn, int id)
{
	snprintf(dn, 64, "cn=entry %d," SUFFIX, id);
}

/* An attribute with these values. */
#define ATTRIBUTE(type, ...) (&(LDAPMod){ LDAP_MOD_REPLACE, \
	(char *)(uintptr_t)type, { (char **)(uintptr_t) \
	(const char *[]){ __VA_ARGS__, NULL } } })

static void
add_suffix(LDAP *ld)
{
	LDAPMod *attributes[] = { ATTRIBUTE("dc", "test"),
		ATTRIBUTE("objectClass", "dcObject", "organization"),
		ATTRIBUTE("o", "test"), NULL };
	int r = ldap_add_ext_s(ld, SUFFIX, attributes, NULL, NULL);

	is("suffix", r == LDAP_ALREADY_EXISTS ? LDAP_SUCCESS : r,
	    LDAP_SUCCESS);
}

static void
add_entry(LDAP *ld, int id, const char *text)
{
	char dn[64], cn[32];
	LDAPMod *attributes[] = { ATTRIBUTE("objectClass",
	    "organizationalRole"), ATTRIBUTE("cn", cn),
	    ATTRIBUTE("description", text), NULL };

	name_of(dn, id);
	snprintf(cn, sizeof cn, "entry %d", id);
	is("add", ldap_add_ext_s(ld, dn, attributes, NULL, NULL),
	    LDAP_SUCCESS);
}

static void
change_entry(LDAP *ld, int id, const char *text)
{
	char dn[64];
	LDAPMod *attributes[] = { ATTRIBUTE("description", text), NULL };

	name_of(dn, id);
	is("modify", ldap_modify_ext_s(ld, dn, attributes, NULL, NULL),
	    LDAP_SUCCESS);
}

static void
delete_entry(LDAP *ld, int id)
{
	char dn[64];

	name_of(dn, id);
	is("delete", ldap_delete_ext_s(ld, dn, NULL, NULL), LDAP_SUCCESS);
}

/* The answer has one entry, with that description. */
static void
check_answer(LDAP *ld, LDAPMessage *answer, int id, const char *text)
{
	LDAPMessage *e = ldap_first_entry(ld, answer);
	struct berval **v = NULL;
	char dn[64], *got = NULL;

	EQ(ldap_count_entries(ld, answer), 1);
	if (e) {
		name_of(dn, id);
		got = ldap_get_dn(ld, e);
		OK(strcmp(got, dn) == 0);
		v = ldap_get_values_len(ld, e, "description");
	}
	OK(v && strcmp(v[0]->bv_val, text) == 0);
	ldap_value_free_len(v);
	ldap_memfree(got);
}

static void
find_entry(LDAP *ld, int id, const char *text)
{
	char filter[64];
	LDAPMessage *answer = NULL;

	snprintf(filter, sizeof filter, "(cn=entry %d)", id);
	is("search", ldap_search_ext_s(ld, SUFFIX, LDAP_SCOPE_ONELEVEL, filter,
	    NULL, 0, NULL, NULL, NULL, 0, &answer), LDAP_SUCCESS);
	check_answer(ld, answer, id, text);
	ldap_msgfree(answer);
}

/* libldap reads its settings at its first call, which is to be alone. */
static LDAP *
begin(void)
{
	LDAP *ld;

	server_needed(&slapd);
	setenv("LDAPNOINIT", "1", 1);
	ld = login();
	add_suffix(ld);
	return ld;
}

/* Some waits were with a mutex held, or this program tests little. */
static void
finish(LDAP *ld)
{
	weft_hooks_stats s;

	weft_hooks_stats_read(&s, sizeof s);
	OK(s.held_parks > 0);
	logout(ld);
}

/* ---- a connection of each goroutine ---- */

static void
client(int id)
{
	LDAP *ld = login();
	char text[32];

	snprintf(text, sizeof text, "made by %d", id);
	add_entry(ld, id, text);
	for (int i = 0; i < ROUNDS; i++) {
		find_entry(ld, id, text);
		snprintf(text, sizeof text, "%d of %d", i, id);
		change_entry(ld, id, text);
	}
	find_entry(ld, id, text);
	delete_entry(ld, id);
	logout(ld);
}

static void
own_answers(void)
{
	LDAP *ld = begin();
	weft_waitgroup wg = {0};

	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, client, i);
	weft_waitgroup_wait(&wg);
	finish(ld);
}
GTEST(own_answers_on_1, 1) { own_answers(); }
GTEST(own_answers_on_4, 4) { own_answers(); }
ETEST(own_answers_moving, 2, "WEFT_MIGRATE=1") { own_answers(); }

/* ---- one connection of all goroutines ---- */

static void
search_shared(LDAP *ld, int id, const char *text)
{
	char filter[64];
	LDAPMessage *answer = NULL;
	int msgid, type, code = -1;

	snprintf(filter, sizeof filter, "(cn=entry %d)", id);
	is("search", ldap_search_ext(ld, SUFFIX, LDAP_SCOPE_ONELEVEL, filter,
	    NULL, 0, NULL, NULL, NULL, 0, &msgid), LDAP_SUCCESS);
	weft_yield();
	/* All messages of the answer. It returns the type of the first if
	 * another goroutine has read them, else that of the last. */
	type = ldap_result(ld, msgid, LDAP_MSG_ALL, NULL, &answer);
	OK(type == LDAP_RES_SEARCH_ENTRY || type == LDAP_RES_SEARCH_RESULT);
	is("parse", ldap_parse_result(ld, answer, &code, NULL, NULL, NULL,
	    NULL, 0), LDAP_SUCCESS);
	is("result", code, LDAP_SUCCESS);
	EQ(ldap_msgid(answer), msgid);
	check_answer(ld, answer, id, text);
	ldap_msgfree(answer);
}

/* A handle of its own for the same connection. */
static void
sharer(LDAP *ld, int id)
{
	LDAP *own = ldap_dup(ld);
	char text[32];

	snprintf(text, sizeof text, "of %d", id);
	add_entry(own, id, text);
	for (int i = 0; i < SEARCHES; i++)
		search_shared(own, id, text);
	delete_entry(own, id);
	is("destroy", ldap_destroy(own), LDAP_SUCCESS);
}

static void
share(void)
{
	LDAP *ld = begin();
	weft_waitgroup wg = {0};

	for (int i = 0; i < SHARERS; i++)
		weft_waitgroup_go(&wg, sharer, ld, i);
	weft_waitgroup_wait(&wg);
	finish(ld);
}
GTEST(shared_on_1, 1) { share(); }
GTEST(shared_on_4, 4) { share(); }
ETEST(shared_moving, 2, "WEFT_MIGRATE=1") { share(); }
ETEST(shared_sliced, 2, "WEFT_SLICE_US=50") { share(); }

/* ---- every error is its connection's ---- */

static int silent_port;

static void
time_out(void)
{
	struct timeval tv = { 0, SILENT_MS * 1000 };
	LDAP *ld = open_at(silent_port);
	double start = t_now();

	is("timeout", ldap_set_option(ld, LDAP_OPT_TIMEOUT, &tv),
	    LDAP_SUCCESS);
	is("bind", bind_as_root(ld, PASSWORD), LDAP_TIMEOUT);
	OK(t_now() - start >= SILENT_MS / 1e3 - 0.002);
	logout(ld);
}

static void
ask_for_nothing(int id)
{
	LDAP *ld = login();
	char dn[64], *matched = NULL;
	int code = 0;

	name_of(dn, id);
	is("missing", ldap_delete_ext_s(ld, dn, NULL, NULL),
	    LDAP_NO_SUCH_OBJECT);
	weft_yield();
	ldap_get_option(ld, LDAP_OPT_RESULT_CODE, &code);
	is("code", code, LDAP_NO_SUCH_OBJECT);
	ldap_get_option(ld, LDAP_OPT_MATCHED_DN, &matched);
	OK(matched && strcmp(matched, SUFFIX) == 0);
	ldap_memfree(matched);
	logout(ld);
}

static void
fail_in_its_way(int id)
{
	LDAP *ld;

	switch (id % 3) {
	case 0:
		time_out();
		break;
	case 1:
		ask_for_nothing(id);
		break;
	default:
		ld = open_at(slapd.port[0]);
		is("password", bind_as_root(ld, "guessed"),
		    LDAP_INVALID_CREDENTIALS);
		logout(ld);
	}
}

GTEST(own_errors, 2)
{
	LDAP *ld = begin();
	weft_waitgroup wg = {0};
	int fd = server_silent(&silent_port, CLIENTS);

	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, fail_in_its_way, i);
	weft_waitgroup_wait(&wg);
	finish(ld);
	close(fd);
}
