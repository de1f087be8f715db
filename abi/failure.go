package abi

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
)

// ParseFailure reads the record that a guest gave to fail. It is strict about
// types, and about a record that is permanent and retryable at once; unknown
// fields and those that only the host may fill in are ignored, so that an SDK
// newer than the host works. What is too long is cut and named in Truncated;
// every string comes back repaired.
//
// A reserved class becomes GuestError with the name kept in the message, and
// reserved ancestors are dropped: no refund, no flag and no rule of the host's
// own ever comes from a guest's record.
//
// An error means nonsense, and that the attempt ends in AbiViolation. Its text
// names the field and carries nothing of the record.
func ParseFailure(raw []byte) (*Failure, error) {
	f, err := parseFailure(raw, 0)
	if err != nil {
		return nil, fmt.Errorf("failure record: %w", err)
	}
	return f, nil
}

func parseFailure(raw []byte, depth int) (*Failure, error) {
	record, err := objectOf(raw)
	if err != nil {
		return nil, err
	}
	var class string
	var ancestors []string
	var cause json.RawMessage
	f := &Failure{}
	for _, field := range []struct {
		name string
		into any
		want string
	}{
		{"class", &class, "a string"},
		{"ancestors", &ancestors, "a list of strings"},
		{"message", &f.Message, "a string"},
		{"permanent", &f.Permanent, "true or false"},
		{"retryable", &f.Retryable, "true or false"},
		{"details", &f.Details, "JSON"},
		{"stack", &f.Stack, "a string"},
		{"cause", &cause, "a failure record"},
	} {
		if err := record.read(field.name, field.into, field.want); err != nil {
			return nil, err
		}
	}
	if f.Permanent && f.Retryable {
		return nil, fmt.Errorf("permanent and retryable exclude each other")
	}
	if f.HTTP, err = record.http(f); err != nil {
		return nil, err
	}
	f.name(class, ancestors)
	f.limit()
	if len(cause) == 0 || string(cause) == "null" {
		return f, nil
	}
	if depth+1 > MaxCauses {
		f.markTruncated("cause")
		return f, nil
	}
	if f.Cause, err = parseFailure(cause, depth+1); err != nil {
		return nil, fmt.Errorf("cause: %w", err)
	}
	return f, nil
}

// markTruncated notes that a field was shortened.
func (f *Failure) markTruncated(field string) {
	if !slices.Contains(f.Truncated, field) {
		f.Truncated = append(f.Truncated, field)
	}
}

// name sets class and ancestors as far as a guest may choose them.
func (f *Failure) name(class string, ancestors []string) {
	class, cut := Text(class, MaxClass)
	if cut {
		f.markTruncated("class")
	}
	switch {
	case class == "":
		class = ClassGuestError
	case class != ClassGuestError && Reserved(class):
		f.Message = class + ": " + f.Message
		class = ClassGuestError
	}
	f.Class = class
	for _, a := range ancestors {
		a, cut := Text(a, MaxClass)
		if cut {
			f.markTruncated("ancestors")
		}
		if a == "" || a == class || Reserved(a) || slices.Contains(f.Ancestors, a) {
			continue
		}
		if len(f.Ancestors) == MaxAncestors {
			f.markTruncated("ancestors")
			break
		}
		f.Ancestors = append(f.Ancestors, a)
	}
	for _, a := range Ancestors(class) {
		f.AddAncestor(a)
	}
}

// AddAncestor appends a class to the ancestors unless it is there already.
func (f *Failure) AddAncestor(class string) {
	if !slices.Contains(f.Ancestors, class) {
		f.Ancestors = append(f.Ancestors, class)
	}
}

func (f *Failure) limit() {
	var cut bool
	if f.Message, cut = Text(f.Message, MaxMessage); cut {
		f.markTruncated("message")
	}
	if f.Stack, cut = Text(f.Stack, MaxStack); cut {
		f.markTruncated("stack")
	}
	if string(f.Details) == "null" {
		f.Details = nil
	}
	if f.Details == nil {
		return
	}
	details, err := RepairJSON(f.Details)
	if err != nil || len(details) > MaxDetails {
		f.Details = nil
		f.markTruncated("details")
		return
	}
	f.Details = details
}

// object is a decoded record by its exact field names: encoding/json would
// take "Class" for class, which no other host does.
type object map[string]json.RawMessage

func objectOf(raw []byte) (object, error) {
	var o object
	if !json.Valid(raw) {
		return nil, fmt.Errorf("isn't valid JSON")
	}
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, fmt.Errorf("must be a JSON object")
	}
	return o, nil
}

// read decodes one field; absent and null leave the zero value.
func (o object) read(name string, into any, want string) error {
	raw, ok := o[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s must be %s", name, want)
	}
	return nil
}

func (o object) http(f *Failure) (*HTTP, error) {
	raw, ok := o["http"]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	fields, err := objectOf(raw)
	if err != nil {
		return nil, fmt.Errorf("http must be an object")
	}
	h := &HTTP{}
	if err := fields.read("status", &h.Status, "a whole number"); err != nil {
		return nil, fmt.Errorf("http.%w", err)
	}
	if h.Status < 0 || h.Status > 999 {
		return nil, fmt.Errorf("http.status must lie in 0..999")
	}
	var headers map[string]string
	if err := fields.read("headers", &headers, "an object of strings"); err != nil {
		return nil, fmt.Errorf("http.%w", err)
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	sort.Strings(names) // so that the same record is cut the same way
	size := 0
	for _, name := range names {
		key, value := Repair(name), Repair(headers[name])
		size += len(key) + len(value)
		if len(h.Headers) == MaxHeaders || size > MaxHeaderBytes {
			f.markTruncated("http.headers")
			break
		}
		if h.Headers == nil {
			h.Headers = make(map[string]string, len(names))
		}
		h.Headers[key] = value
	}
	return h, nil
}
