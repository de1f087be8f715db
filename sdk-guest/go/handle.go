package taskq

import (
	"context"
	"encoding/json"
	"errors"
)

// Raw is a payload or a result whose bytes are taken as they are. Use it as
// In or Out of a handler that doesn't speak JSON; the actor's declared content
// type then has to say what a result is.
type Raw []byte

// Handle runs one attempt with handle and returns what the entry has to
// return: 0 when it succeeded.
//
// The payload is decoded from JSON into In; an empty one counts as null. One
// that doesn't fit is a failure of class PayloadValidationError, which is
// never retried. Out is encoded as JSON; a value that can't be is
// UnencodableValue.
//
// An error becomes the failure that [FailureOf] makes of it, unless it carries
// a [Snooze] or a [RetryAfter]. A panic becomes a failure too: a value with a
// type of its own (an error, a runtime.Error) keeps that as its class, with
// GuestPanic among its ancestors; a bare text is a GuestPanic.
//
// The context is cancelled when [Heartbeat] learns that the job was cancelled
// or taken away, and knows the attempt's deadline.
func Handle[In, Out any](handle func(ctx context.Context, in In) (Out, error)) int32 {
	return serve(context.Background(), current(), jsonBody(handle))
}

const (
	returnOK     = 0
	returnFailed = 1
)

// body is a handler without its types.
type body func(ctx context.Context, payload []byte) (result []byte, err error)

func jsonBody[In, Out any](handle func(context.Context, In) (Out, error)) body {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		in, err := decode[In](payload)
		if err != nil {
			return nil, err
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
}

func decode[In any](payload []byte) (in In, err error) {
	if raw, ok := any(&in).(*Raw); ok {
		*raw = payload
		return in, nil
	}
	if len(payload) == 0 {
		payload = []byte("null")
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return in, &Error{Class: classPayload, Message: payloadMessage(err), Permanent: true}
	}
	return in, nil
}

// payloadMessage says where a payload doesn't fit, and nothing of its content.
func payloadMessage(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		field := wrongType.Field
		if field == "" {
			field = "the payload"
		}
		return field + " must not be a JSON " + wrongType.Value
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return "the payload isn't valid JSON"
	}
	return err.Error()
}

func encode(out any) ([]byte, error) {
	if raw, ok := out.(Raw); ok {
		return raw, nil
	}
	result, err := json.Marshal(out)
	if err != nil {
		return nil, &Error{Class: classUnencodable, Message: err.Error(), Permanent: true}
	}
	return result, nil
}

// serve is one attempt: read, run, report.
func serve(parent context.Context, h host, run body) (code int32) {
	ctx, end := begin(parent, h)
	defer end()
	defer func() {
		if v := recover(); v != nil {
			code = reportPanic(h, v)
		}
	}()
	result, err := run(ctx, h.input())
	if err != nil {
		return report(h, err)
	}
	h.push(result)
	return returnOK
}

// report tells the host why the attempt didn't succeed. Where the host obeys a
// signal it doesn't return.
func report(h host, err error) int32 {
	s := signalOf(err)
	if s == nil {
		h.fail(FailureOf(err).record())
		return returnFailed
	}
	if s.delay < 0 {
		h.fail(FailureOf(&Error{Class: "taskq.NegativeDelay", Message: s.Error(), Permanent: true}).record())
		return returnFailed
	}
	if s.snooze {
		h.snooze(milliseconds(s.delay))
	} else {
		h.retryAfter(milliseconds(s.delay), s.consume)
	}
	return returnFailed
}
