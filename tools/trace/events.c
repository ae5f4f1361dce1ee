/* SPDX-License-Identifier: MIT */
/* weft-trace events: a line for each event, in order. */
#include <inttypes.h>

#include "command.h"
#include "names.h"
#include "order.h"

static void
print_argument(struct trace *t, const struct event *e, FILE *out)
{
	const struct site *site;

	switch (e->type) {
	case TR_BLOCK:
		fprintf(out, " %s", trace_reason(t, e->arg));
		break;
	case TR_STATUS:
		fprintf(out, " %s", state_name(event_status(e)));
		break;
	case TR_P_STOP:
		fprintf(out, " %s", stop_name(e->arg));
		break;
	case TR_P_TAKEN:
		fprintf(out, " %s", taken_name(e->arg));
		break;
	case TR_YIELD:
		fprintf(out, " %s", yield_name(e->arg));
		break;
	case TR_CREATE:
	case TR_CREATE_WAITING:
		site = trace_site(t, e->extra);
		if (site)
			fprintf(out, " %s %s:%d", site->function, site->file,
			    site->line);
		break;
	case TR_STEAL:
		fprintf(out, " %u from P%u", e->arg >> 16, e->arg & 0xffff);
		break;
	case TR_PROCS:
	case TR_TIMERS:
	case TR_NETPOLL:
		fprintf(out, " %u", e->arg);
		break;
	case TR_TASK_BEGIN:
	case TR_TASK_END:
	case TR_REGION_BEGIN:
	case TR_LOG:
		fprintf(out, " task %" PRIu64, e->extra);
		break;
	default:
		break;
	}
	if (e->text)
		fprintf(out, " \"%.*s\"", (int)e->text, event_text(e));
}

static void
print_event(struct trace *t, const struct event *e, FILE *out)
{
	fprintf(out, "%14.6f", (double)e->ns / 1e6);
	if (e->p != NO_P)
		fprintf(out, " P%-3u", e->p);
	else
		fputs(" -   ", out);
	if (e->m)
		fprintf(out, " M%-3u", e->m);
	else if (e->flags & EVENT_MONITOR)
		fputs(" mon ", out);
	else
		fprintf(out, " t%-3u", e->tid);
	fprintf(out, " %-14s", type_name(e->type));
	if (e->g)
		fprintf(out, " G%" PRIu64, e->g);
	print_argument(t, e, out);
	if (e->self && e->self != e->g)
		fprintf(out, " by G%" PRIu64, e->self);
	if (e->stack)
		fprintf(out, " stack %u", e->stack);
	fputs(e->flags & EVENT_MADE ? " (made up)\n" : "\n", out);
}

int
command_events(struct trace *t, FILE *out)
{
	struct order *o = order_open(t);
	struct event e;

	while (order_next(o, &e) && !ferror(out))
		print_event(t, &e, out);
	order_close(o);
	return 0;
}
