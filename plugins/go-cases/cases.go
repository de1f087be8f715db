package main

import (
	"context"
	"errors"
	"strings"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

// cases are the ways to end that aren't a plain result.
var cases = map[string]func(ctx context.Context) error{
	"typed-error":      func(context.Context) error { return &CardDeclined{Code: "insufficient_funds"} },
	"permanent":        func(context.Context) error { return taskq.Permanent(errors.New("the account is closed")) },
	"panic":            func(context.Context) error { return element(make([]error, 3), 7) },
	"panic-text":       func(context.Context) error { panic("boom: ada") },
	"fails-twice":      failsTwice,
	"snooze-twice":     snoozeTwice,
	"retry-after":      retryAfter,
	"rate-limited":     rateLimited,
	"endless-loop":     endlessLoop,
	"memory-bomb":      memoryBomb,
	"deadlock":         func(context.Context) error { select {} },
	"huge-log":         hugeLog,
	"result-too-large": func(context.Context) error { return nil },
}

// CardDeclined is an error with a type and details of its own.
type CardDeclined struct {
	Code string `json:"code"`
}

func (e *CardDeclined) Error() string { return "the card was declined: " + e.Code }

// TaskqDetails go into the failure record.
func (e *CardDeclined) TaskqDetails() any { return e }

//go:noinline
func element(list []error, i int) error { return list[i] }

func failsTwice(ctx context.Context) error {
	if attempt := taskq.Meta(ctx).Attempt; attempt < 3 {
		return errors.New("not this time")
	}
	return nil
}

func snoozeTwice(ctx context.Context) error {
	if taskq.Meta(ctx).SnoozeCount < 2 {
		return taskq.Snooze(100 * time.Millisecond)
	}
	return nil
}

func retryAfter(ctx context.Context) error {
	if taskq.Meta(ctx).Attempt < 2 {
		return taskq.RetryAfter(100 * time.Millisecond)
	}
	return nil
}

// rateLimited is what an API client does with a response.
func rateLimited(ctx context.Context) error {
	if taskq.Meta(ctx).Attempt < 2 {
		return taskq.CheckHTTP(429, map[string]string{"Retry-After": "1"})
	}
	return taskq.CheckHTTP(200, nil)
}

var turns uint64

func endlessLoop(context.Context) error {
	for {
		turns++
	}
}

var held [][]byte

func memoryBomb(context.Context) error {
	for {
		held = append(held, make([]byte, 1<<20))
	}
}

func hugeLog(ctx context.Context) error {
	log := taskq.Log(ctx)
	for i := range 5000 {
		log.Info(strings.Repeat("all work and no play ", 40), "line", i)
	}
	return nil
}

// large is more than a result may have.
func large() string { return strings.Repeat("a", 100<<10) }
