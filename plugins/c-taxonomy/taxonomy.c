/* A classifier in C, without libc: builtin:failure_taxonomy once more, as a
 * module. It tells transient failures from permanent ones by their names and
 * HTTP statuses.
 *
 * A cursor walks the input, which is JSON that the host wrote: it is valid, and
 * names that matter hold no escapes. */
#define TASKQ_NO_LIBC
#include "taskq.h"

typedef struct {
	const char *p, *end;
} text;

typedef const char *at; /* a position in the input: the first byte of a value */

static char input[1 << 19];
static at end;

static at spaces(at p) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static at past_string(at p) {
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p + 1;
}

/* past gives the first byte behind a value. */
static at past(at p) {
	int depth = 0;
	do {
		if (*p == '"')
			p = past_string(p);
		else {
			depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
			p++;
		}
	} while (p < end && (depth > 0 || (*p != ',' && *p != '}' && *p != ']')));
	return p;
}

static text string(at p) {
	text t = {0, 0};
	if (p && *p == '"')
		t.p = p + 1, t.end = past_string(p) - 1;
	return t;
}

static int same(text t, const char *want) {
	at p = t.p;
	for (; p < t.end && *want && *p == *want; p++)
		want++;
	return t.p && p == t.end && !*want;
}

static int equal(text a, text b) {
	if (a.end - a.p != b.end - b.p)
		return 0;
	for (; a.p < a.end; a.p++, b.p++)
		if (*a.p != *b.p)
			return 0;
	return 1;
}

/* next gives the first element of an array or member of an object, or the one
 * behind p; 0 at the end. */
static at first(at p) {
	p = spaces(p + 1);
	return *p == ']' || *p == '}' ? 0 : p;
}

static at next(at p) {
	p = spaces(past(p));
	return p < end && *p == ',' ? spaces(p + 1) : 0;
}

/* member finds the value of a key; 0 if there is none. */
static at member(at object, const char *key) {
	if (!object || *object != '{')
		return 0;
	for (at p = first(object); p;) {
		at value = spaces(spaces(past_string(p)) + 1);
		if (same(string(p), key))
			return value;
		p = next(value);
	}
	return 0;
}

static int number(at p) {
	int n = 0;
	if (p)
		for (; p < end && *p >= '0' && *p <= '9' && n < 100000; p++)
			n = n * 10 + *p - '0';
	return n;
}

/* base is a class without pointer marks, qualifier and type parameters. */
static text base(text t) {
	while (t.p < t.end && (*t.p == '*' || *t.p == '&'))
		t.p++;
	for (at p = t.p + 1; p < t.end; p++)
		if (*p == '<' || *p == '[')
			t.end = p;
	for (at p = t.end; p > t.p; p--)
		if (p[-1] == '.' || p[-1] == '/' || p[-1] == '\\' || p[-1] == '$' || (p[-1] == ':' && p - 1 > t.p && p[-2] == ':')) {
			t.p = p;
			break;
		}
	return t;
}

/* listed looks a name up in a list of settings, or in the default one. */
static int listed(text name, at list, const char *const *defaults) {
	if (list) {
		for (at p = first(list); p; p = next(p))
			if (equal(name, base(string(p))))
				return 1;
		return 0;
	}
	for (; defaults && *defaults; defaults++)
		if (same(name, *defaults))
			return 1;
	return 0;
}

/* has looks a status up in a list of numbers and of ranges such as "500-599". */
static int has(int status, at list) {
	for (at p = first(list); p; p = next(p)) {
		at from = *p == '"' ? p + 1 : p, to = from;
		while (*to >= '0' && *to <= '9')
			to++;
		int low = number(from), high = *p == '"' && *to == '-' ? number(to + 1) : low;
		if (status >= low && status <= high)
			return 1;
	}
	return 0;
}

static int ends(text t, const char *with) {
	int n = 0;
	while (with[n])
		n++;
	if (t.end - t.p < n)
		return 0;
	t.p = t.end - n;
	return same(t, with);
}

static const char *const timeouts[] = {
	"ReadTimeout", "ConnectTimeout", "ServerTimeoutError", "ReadTimeoutError", "ConnectTimeoutError", 0,
};

static int transient_name(text name, at settings) {
	at suffix = member(settings, "infer_timeout_by_suffix");
	return same(name, "ConnectionError") || same(name, "TimeoutError") || listed(name, member(settings, "include_names"), timeouts) ||
	       (suffix && *suffix == 't' && (ends(name, "Timeout") || ends(name, "TimeoutError")));
}

/* any asks about the class and each ancestor. */
static int any(at failure, at settings, int excluded) {
	at ancestors = member(failure, "ancestors");
	text name = base(string(member(failure, "class")));
	at p = ancestors && *ancestors == '[' ? first(ancestors) : 0;
	for (;;) {
		if (excluded ? listed(name, member(settings, "exclude_names"), 0) : transient_name(name, settings))
			return 1;
		if (!p)
			return 0;
		name = base(string(p));
		p = next(p);
	}
}

static int answer(const char *json, size_t len) {
	taskq_output(json, len);
	return 1;
}

TASKQ_CLASSIFY {
	int32_t len = taskq_input_read(input, sizeof input);
	if (len < 0 || (size_t)len > sizeof input)
		return -1;
	end = input + len;
	at failure = member(input, "failure"), settings = member(input, "settings");
	int status = number(member(member(failure, "http"), "status"));
	at transient = member(settings, "transient_status"), permanent = member(settings, "non_retryable_status");
	if (!failure || any(failure, settings, 1))
		return 0;
	if (any(failure, settings, 0) ||
	    (transient ? has(status, transient) : status == 408 || status == 425 || (status >= 500 && status <= 599)))
		return answer("{\"kind\":\"transient\"}", 20);
	if (permanent ? has(status, permanent) : status >= 400 && status <= 499 && status != 408 && status != 425 && status != 429)
		return answer("{\"kind\":\"non_retryable\"}", 24);
	return 0;
}
