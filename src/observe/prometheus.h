/* SPDX-License-Identifier: MIT */
/* All metrics in Prometheus' text format. See prometheus.c. */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

struct sink;

void prometheus_write(struct sink *out);

#endif
