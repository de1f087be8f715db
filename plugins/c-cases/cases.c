/* An actor in C: the payload's case chooses how the attempt ends. */
#include <assert.h>

#include "taskq.h"

static int is(const char *word, size_t len, const char *want) {
	return strlen(want) == len && memcmp(word, want, len) == 0;
}

/* fib calls itself and never loops, so an engine that looks for endless code
 * at loops alone never stops it. */
__attribute__((noinline)) static uint64_t fib(uint64_t n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* deeper uses up the stack that C keeps in linear memory. */
__attribute__((noinline)) static int deeper(volatile char *above, int n) {
	volatile char frame[256];
	frame[n & 255] = above[0];
	return n < 0 ? n : deeper(frame, n + 1) + frame[0];
}

static void memory_bomb(void) {
	static void **held; /* else the compiler sees that nobody needs it */
	for (void **p; (p = malloc(1 << 20)) != NULL; held = p)
		*p = held;
	abort(); /* what programs do that can't go on */
}

static void endless_loop(void) {
	for (volatile uint64_t turns = 0;; turns++)
		;
}

static void huge_log(void) {
	static const char line[] = "all work and no play makes a dull log; all work and no play makes a dull log";
	for (int i = 0; i < 20000; i++)
		taskq_log(TASKQ_INFO, line, sizeof line - 1);
}

static void large_result(void) {
	static char piece[4096];
	memset(piece, 'a', sizeof piece);
	for (int i = 0; i < 100; i++)
		taskq_output(piece, sizeof piece);
}

/* unsteady runs a case that depends on the attempt; 1 if it asked for another. */
static int unsteady(const char *name, size_t len) {
	if (is(name, len, "fails-twice") && taskq_fact("attempt") < 3)
		return taskq_fail("flaky.NotThisTime", "not this time");
	if (is(name, len, "snooze-twice") && taskq_fact("snooze_count") < 2)
		taskq_snooze(100);
	if (is(name, len, "retry-after") && taskq_fact("attempt") < 2)
		taskq_retry_after(100, 1);
	return 0;
}

static void deadly(const char *name, size_t len) {
	volatile char first = 0;
	volatile int zero = 0;
	if (is(name, len, "abort"))
		abort();
	if (is(name, len, "assert"))
		assert(zero == 1);
	if (is(name, len, "exit-3"))
		exit(3);
	if (is(name, len, "divide-by-zero"))
		zero = 100 / zero;
	if (is(name, len, "endless-loop"))
		endless_loop();
	if (is(name, len, "recursion"))
		fib(200);
	if (is(name, len, "stack-overflow"))
		deeper(&first, 0);
	if (is(name, len, "memory-bomb"))
		memory_bomb();
	if (is(name, len, "bad-pointer"))
		taskq_output((void *)0xfffffff0, 64);
	if (is(name, len, "huge-log"))
		huge_log();
	if (is(name, len, "result-too-large"))
		large_result();
}

TASKQ_RUN {
	char *input = taskq_read_all(taskq_input_read, NULL);
	size_t len = 0;
	const char *name = input == NULL ? NULL : taskq_field(input, "case", &len);
	if (name == NULL)
		return taskq_fail("PayloadValidationError", "the payload has no case");
	if (is(name, len, "typed-error"))
		return taskq_fail("bank.Refused", "the bank refused");
	if (unsteady(name, len))
		return 1;
	deadly(name, len);
	const char *who = taskq_field(input, "name", &len);
	char out[256];
	int n = snprintf(out, sizeof out, "{\"greeting\":\"hello, %.*s\"}", who ? (int)len : 5, who ? who : "world");
	taskq_output(out, (size_t)n);
	return 0;
}
