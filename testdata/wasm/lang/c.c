/* Deaths in C, as a WASI command without any SDK: stdin names the one. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int deeper(volatile char *above, int n) {
	volatile char frame[256];
	frame[n & 255] = above[0];
	return n < 0 ? n : deeper(frame, n + 1) + frame[0];
}

static void memory_bomb(void) {
	static void **held;
	for (void **p; (p = malloc(1 << 20)) != NULL; held = p)
		*p = held;
	fprintf(stderr, "no memory left\n");
	abort();
}

static int add(int a, int b) { return a + b; }

int main(void) {
	char word[64] = {0};
	size_t n = fread(word, 1, sizeof word - 1, stdin);
	word[n] = 0;
	volatile int zero = 0;
	volatile float nothing = __builtin_nanf("");
	char *volatile outside = (char *)0x7fffff00;
	volatile char first = 0;
	static int (*volatile nobody)(int, int);
	static void *volatile somebody = (void *)add;
	if (strcmp(word, "abort") == 0)
		abort();
	if (strcmp(word, "assert") == 0)
		assert(zero == 1);
	if (strcmp(word, "exit") == 0)
		exit(3);
	if (strcmp(word, "return") == 0)
		return 4;
	if (strcmp(word, "last-line") == 0) {
		fprintf(stderr, "a warning\nthe disk is full\n");
		return 5;
	}
	if (strcmp(word, "temporary") == 0)
		return 75;
	if (strcmp(word, "rejected") == 0)
		return 65;
	if (strcmp(word, "forbidden") == 0)
		return 77;
	if (strcmp(word, "trap") == 0)
		__builtin_trap();
	if (strcmp(word, "out-of-bounds") == 0)
		*outside = 1;
	if (strcmp(word, "divide-by-zero") == 0)
		return 100 / zero;
	if (strcmp(word, "integer-overflow") == 0)
		return INT_MIN / (zero - 1);
	if (strcmp(word, "bad-conversion") == 0)
		return __builtin_wasm_trunc_s_i32_f32(nothing); /* a plain cast saturates */
	if (strcmp(word, "null-function") == 0)
		return nobody(1, 2);
	if (strcmp(word, "wrong-function") == 0)
		((void (*)(double))somebody)(1.0);
	if (strcmp(word, "stack-overflow") == 0)
		return deeper(&first, 0);
	if (strcmp(word, "memory-bomb") == 0)
		memory_bomb();
	printf("\"%s\"\n", word);
	return 0;
}
