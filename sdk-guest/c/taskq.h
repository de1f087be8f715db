/* Guest ABI of taskq-host, version 1, for C and C++. One header, no library.
 *
 *   #include "taskq.h"
 *   TASKQ_RUN { taskq_output("{\"ok\":true}", 11); return 0; }
 *
 *   clang --target=wasm32-wasi -O2 -mexec-model=reactor -Wl,--stack-first \
 *         -Wl,-z,stack-size=1048576 -Wl,--strip-all -o actor.wasm actor.c
 *
 * Without libc: --target=wasm32 -nostdlib -Wl,--no-entry. The first part of
 * this header needs nothing; the part below TASKQ_NO_LIBC needs libc.
 *
 * Reads write at most cap bytes and return the full length; negative results
 * are the codes below. Whatever "unwinds" doesn't return to the caller.
 */
#ifndef TASKQ_H
#define TASKQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TASKQ_C extern "C"
#else
#define TASKQ_C extern
#endif

#define TASKQ_IMPORT(name) TASKQ_C __attribute__((import_module("taskq_v1"), import_name(name)))

/* Entries. TASKQ_RUN { … return 0; } defines the one of an actor. */
#ifdef __cplusplus
#define TASKQ_EXPORT(name) extern "C" __attribute__((export_name(name)))
#else
#define TASKQ_EXPORT(name) __attribute__((export_name(name)))
#endif
#define TASKQ_RUN TASKQ_EXPORT("taskq_v1_run") int32_t taskq_v1_run(void)
#define TASKQ_CLASSIFY TASKQ_EXPORT("taskq_v1_classify") int32_t taskq_v1_classify(void)
#define TASKQ_DESCRIBE TASKQ_EXPORT("taskq_v1_describe") int32_t taskq_v1_describe(void)

enum {
	TASKQ_NOT_FOUND = -1,
	TASKQ_DENIED = -2,
	TASKQ_TOO_LARGE = -3,
	TASKQ_INVALID = -4,
	TASKQ_LIMIT = -5,
	TASKQ_CANCELED = -6,
	TASKQ_UNAVAILABLE = -7,
	TASKQ_TIMEOUT = -8,
	TASKQ_CONFLICT = -9,
	TASKQ_FAULT = -10
};

enum { TASKQ_TRACE, TASKQ_DEBUG, TASKQ_INFO, TASKQ_WARN, TASKQ_ERROR };

/* Bits of taskq_heartbeat. */
enum { TASKQ_CANCEL_ASKED = 1, TASKQ_DRAINING = 2, TASKQ_DEADLINE_NEAR = 4, TASKQ_LEASE_LOST = 8 };

TASKQ_IMPORT("input_read") int32_t taskq_input_read(void *buf, size_t cap);
TASKQ_IMPORT("meta_read") int32_t taskq_meta_read(void *buf, size_t cap);
TASKQ_IMPORT("output_write") int32_t taskq_output(const void *p, size_t len);
TASKQ_IMPORT("fail") int32_t taskq_fail_record(const char *json, size_t len);
TASKQ_IMPORT("snooze") int32_t taskq_snooze(int64_t ms);                       /* unwinds */
TASKQ_IMPORT("retry_after") int32_t taskq_retry_after(int64_t ms, int32_t consume_budget); /* unwinds */
TASKQ_IMPORT("log") void taskq_log(int32_t level, const char *text, size_t len);
TASKQ_IMPORT("heartbeat") uint32_t taskq_heartbeat(void);
TASKQ_IMPORT("progress") int32_t taskq_progress(const char *json, size_t len);
TASKQ_IMPORT("now_ms") int64_t taskq_now_ms(void);
TASKQ_IMPORT("random") int32_t taskq_random(void *buf, size_t len);
TASKQ_IMPORT("panic") void taskq_panic(const char *text, size_t len);          /* unwinds */

#ifndef TASKQ_NO_LIBC

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* taskq_read_all reads all of an input (taskq_input_read or taskq_meta_read)
 * as a string that ends in NUL; NULL without memory. The caller frees it. */
static inline char *taskq_read_all(int32_t (*read)(void *, size_t), size_t *len) {
	int32_t n = read(NULL, 0);
	char *p = n < 0 ? NULL : (char *)malloc((size_t)n + 1);
	if (p == NULL)
		return NULL;
	read(p, (size_t)n);
	p[n] = 0;
	if (len != NULL)
		*len = (size_t)n;
	return p;
}

/* taskq_field finds the value of a member of a JSON object, by its first
 * "name": — good enough for a flat object whose author you know, and not a
 * parser. Strings are given without their quotes, escapes as they stand. */
static inline const char *taskq_field(const char *json, const char *name, size_t *len) {
	size_t n = strlen(name);
	for (const char *p = json; (p = strchr(p, '"')) != NULL; p++) {
		if (strncmp(p + 1, name, n) != 0 || p[n + 1] != '"')
			continue;
		const char *v = p + n + 2;
		v += strspn(v, " \t\r\n");
		if (*v != ':')
			continue;
		v += 1 + strspn(v + 1, " \t\r\n");
		if (*v == '"') {
			*len = strcspn(v + 1, "\"");
			return v + 1;
		}
		*len = strcspn(v, ",}] \t\r\n");
		return v;
	}
	return NULL;
}

/* taskq_fact gives a whole number of the attempt's facts: attempt,
 * max_attempts, snooze_count …; 0 where it's absent. */
static inline int64_t taskq_fact(const char *name) {
	char *meta = taskq_read_all(taskq_meta_read, NULL);
	size_t len;
	const char *v = meta == NULL ? NULL : taskq_field(meta, name, &len);
	int64_t fact = v == NULL ? 0 : strtoll(v, NULL, 10);
	free(meta);
	return fact;
}

/* taskq_fail records a failure and gives what the entry has to return. class
 * and message go into JSON as they are: no quotes, no backslashes. */
static inline int32_t taskq_fail(const char *class_, const char *message) {
	char record[1024];
	int n = snprintf(record, sizeof record, "{\"class\":\"%s\",\"message\":\"%s\"}", class_, message);
	if (n > 0 && (size_t)n < sizeof record)
		taskq_fail_record(record, (size_t)n);
	return 1;
}

#endif /* TASKQ_NO_LIBC */
#endif
