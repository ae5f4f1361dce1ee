/* SPDX-License-Identifier: MIT */
/*
 * Dates. Every answer has one, and it changes once a second: the text of this
 * second is kept for all connections. One that finds it old makes it anew;
 * meanwhile others make their own.
 *
 * The kept text is four words, read and written one by one, with a count
 * before and after that is odd meanwhile and that must not have changed.
 */
#include "wire.h"

#include <string.h>
#include <time.h>

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static const int64_t last = 253402300799;	/* of the year 9999 */

static struct {
	uint64_t count;
	int64_t second;
	uint64_t words[4];
} kept __attribute__((__aligned__(64)));

static void
two(char *p, int64_t n)
{
	p[0] = (char)('0' + n / 10 % 10);
	p[1] = (char)('0' + n % 10);
}

/* Days of a month, 0 to 11; of a year. */
static int
month_days(int64_t year, int month)
{
	if (month == 1)
		return year % 4 == 0 && (year % 100 || year % 400 == 0) ?
		    29 : 28;
	return month == 3 || month == 5 || month == 8 || month == 10 ? 30 : 31;
}

static int
year_days(int64_t year)
{
	return 337 + month_days(year, 1);
}

void
http_date(int64_t seconds, char out[HTTP_DATE])
{
	int64_t second, day, year = 1970;
	int month = 0;

	if (seconds < 0 || seconds > last)
		seconds = 0;
	day = seconds / 86400;
	second = seconds % 86400;
	memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", HTTP_DATE);
	memcpy(out, days + 3 * ((day + 4) % 7), 3);
	for (; day >= year_days(year); year++)
		day -= year_days(year);
	for (; day >= month_days(year, month); month++)
		day -= month_days(year, month);
	two(out + 5, day + 1);
	memcpy(out + 8, months + 3 * month, 3);
	two(out + 12, year / 100);
	two(out + 14, year);
	two(out + 17, second / 3600);
	two(out + 20, second / 60 % 60);
	two(out + 23, second % 60);
}

/* Two digits, or -1. */
static int
number(const char *s)
{
	if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
		return -1;
	return (s[0] - '0') * 10 + (s[1] - '0');
}

int64_t
http_date_parse(struct http_text t)
{
	char again[HTTP_DATE];
	int64_t year, s;
	int month = 0;

	if (t.len != HTTP_DATE)
		return -1;
	while (month < 11 && memcmp(months + 3 * month, t.at + 8, 3) != 0)
		month++;
	/* Whatever these are: what is no date is not the same again. */
	year = number(t.at + 12) * 100 + number(t.at + 14);
	s = number(t.at + 5) - 1;
	while (month > 0)
		s += month_days(year, --month);
	while (year > 1970)
		s += year_days(--year);
	s = s * 86400 + number(t.at + 17) * 3600 + number(t.at + 20) * 60 +
	    number(t.at + 23);
	http_date(s, again);
	return memcmp(again, t.at, HTTP_DATE) == 0 ? s : -1;
}

/* Makes this second's text, and keeps it if no other thread is doing so. */
static void
renew(int64_t second, char out[HTTP_DATE])
{
	uint64_t w[4] = {0}, n = __atomic_load_n(&kept.count, __ATOMIC_RELAXED);

	http_date(second, out);
	memcpy(w, out, HTTP_DATE);
	if (n % 2 || !__atomic_compare_exchange_n(&kept.count, &n, n + 1,
	    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&kept.second, second, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		__atomic_store_n(&kept.words[i], w[i], __ATOMIC_RELEASE);
	__atomic_store_n(&kept.count, n + 2, __ATOMIC_RELEASE);
}

void
date_now(char out[HTTP_DATE])
{
	struct timespec ts;
	int64_t second;
	uint64_t w[4], n;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	/* Each word is read after the count before it, and before the count
	 * behind it; a reader of a word of the next text sees its odd count. */
	n = __atomic_load_n(&kept.count, __ATOMIC_ACQUIRE);
	second = __atomic_load_n(&kept.second, __ATOMIC_ACQUIRE);
	for (int i = 0; i < 4; i++)
		w[i] = __atomic_load_n(&kept.words[i], __ATOMIC_ACQUIRE);
	if (second == ts.tv_sec && n % 2 == 0 &&
	    __atomic_load_n(&kept.count, __ATOMIC_RELAXED) == n)
		memcpy(out, w, HTTP_DATE);
	else
		renew(ts.tv_sec, out);
}
