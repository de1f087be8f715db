package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agext/levenshtein"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

const (
	defaultPriority = 5
	octetType       = "application/octet-stream"
	maxContentType  = 255
	maxMetadata     = 16 << 10
	maxHeaderName   = 128
	// longest is as far as a time may lie ahead.
	longest = 36_500 * config.Day
)

// draft is an enqueue that is being read.
type draft struct {
	job    store.NewJob
	patch  config.Patch
	faults []fault

	given        map[string]bool
	payload      []byte // of payload or payload_base64
	delay, close moment
	startBy      moment
	resultTTL    time.Duration
}

// The rules of one field each: they read a valid JSON value and answer what
// doesn't hold, "" if nothing. Where the place is deeper than the field they
// add a fault themselves.
var enqueueFields = map[string]func(d *draft, raw []byte) string{
	"actor":             func(d *draft, raw []byte) string { return readName(raw, &d.job.Actor) },
	"queue":             func(d *draft, raw []byte) string { return readName(raw, &d.job.Queue) },
	"payload":           (*draft).readPayload,
	"payload_base64":    (*draft).readBase64,
	"content_type":      (*draft).readContentType,
	"priority":          func(d *draft, raw []byte) string { return readInt(raw, &d.job.Priority, 0, 9) },
	"version":           func(d *draft, raw []byte) string { return readInt(raw, &d.job.Version, 1, math.MaxInt32) },
	"delay":             func(d *draft, raw []byte) string { return readMoment(raw, &d.delay) },
	"scheduled_at":      func(d *draft, raw []byte) string { return readMoment(raw, &d.delay) },
	"schedule_to_close": func(d *draft, raw []byte) string { return readMoment(raw, &d.close) },
	"start_by":          (*draft).readStartBy,
	"start_to_close":    (*draft).readStartToClose,
	"retry":             (*draft).readRetry,
	"headers":           (*draft).readHeaders,
	"tags":              (*draft).readTags,
	"metadata":          (*draft).readMetadata,
	"result_ttl":        (*draft).readResultTTL,
}

func (d *draft) readStartBy(raw []byte) string {
	rule := readMoment(raw, &d.startBy)
	if rule == "" && d.startBy == (moment{}) {
		return "must be later than now"
	}
	return rule
}

// readDraft reads one job; raw is valid JSON.
func readDraft(raw []byte) *draft {
	d := &draft{given: map[string]bool{}}
	d.job.Priority = defaultPriority
	fields, err := members(raw)
	if err != nil {
		d.fault("", err.Error())
		return d
	}
	for _, f := range fields {
		read, ok := enqueueFields[f.name]
		switch {
		case ok:
			d.given[f.name] = true
			if rule := read(d, f.raw); rule != "" {
				d.fault(f.name, rule)
			}
		case notOffered[f.name]:
			d.fault(f.name, ruleNotOffered)
		default:
			d.fault(placeName(f.name), unknownRule(f.name))
		}
	}
	d.checkTogether()
	return d
}

func (d *draft) fault(place, rule string) {
	d.faults = append(d.faults, fault{FieldError: FieldError{Location: place, Rule: rule}})
}

// placeName is a name of the caller's as part of a location.
func placeName(name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "[" + quoteShort(name) + "]"
		}
	}
	if name == "" || len(name) > 64 {
		return "[" + quoteShort(name) + "]"
	}
	return name
}

func unknownRule(name string) string {
	best, distance := "", 3
	for known := range enqueueFields {
		if len(name) > 64 {
			break
		}
		if n := levenshtein.Distance(strings.ToLower(name), known, nil); n < distance || n == distance && known < best {
			best, distance = known, n
		}
	}
	if best == "" {
		return "isn't a field of a job"
	}
	return fmt.Sprintf("isn't a field of a job; %q is", best)
}

// checkTogether holds the fields to each other.
func (d *draft) checkTogether() {
	if !d.given["actor"] {
		d.fault("actor", "is needed")
	}
	if d.given["delay"] && d.given["scheduled_at"] {
		d.fault("delay", "excludes scheduled_at")
		d.fault("scheduled_at", "excludes delay")
	}
	if d.given["payload"] && d.given["payload_base64"] {
		d.fault("payload", "excludes payload_base64")
		d.fault("payload_base64", "excludes payload")
		return
	}
	d.checkPayload()
}

func (d *draft) checkPayload() {
	if d.job.ContentType == "" {
		d.job.ContentType = jsonType
		if d.given["payload_base64"] {
			d.job.ContentType = octetType
		}
	}
	switch isJSON := isJSONType(d.job.ContentType); {
	case isJSON && d.given["payload_base64"]:
		if err := checkJSON(d.payload); err != nil {
			d.fault("payload_base64", err.Error()+", because content_type says so")
		} else if !utf8.Valid(d.payload) {
			d.fault("payload_base64", "must be valid UTF-8, because content_type says that it is JSON")
		}
	case isJSON && !d.given["payload"]:
		d.payload = []byte("null")
	case !isJSON && d.given["payload"]:
		d.fault("payload", "is JSON, which content_type denies: use payload_base64")
	}
	d.job.Payload = d.payload
}

func isJSONType(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == jsonType || strings.HasSuffix(media, "+json"))
}

func (d *draft) readPayload(raw []byte) string {
	if !utf8.Valid(raw) {
		return "must be valid UTF-8"
	}
	d.payload = raw
	return ""
}

func (d *draft) readBase64(raw []byte) string {
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "must be a string"
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return "must be base64 with padding, without line breaks"
	}
	d.payload = payload
	return ""
}

func (d *draft) readContentType(raw []byte) string {
	if rule := readText(raw, &d.job.ContentType, maxContentType); rule != "" {
		return rule
	}
	if _, _, err := mime.ParseMediaType(d.job.ContentType); err != nil || !strings.Contains(d.job.ContentType, "/") {
		d.job.ContentType = ""
		return "must be a media type such as application/json"
	}
	return ""
}

func (d *draft) readStartToClose(raw []byte) string {
	var text string
	if rule := readText(raw, &text, 64); rule != "" {
		return rule
	}
	patch, err := config.DecodePatch("", map[string]any{"start_to_close": text})
	if err != nil {
		return d.configFaults(err)
	}
	if patch.StartToClose != nil && *patch.StartToClose == 0 {
		return "can't be none for a single job: say a long one"
	}
	d.patch.StartToClose = patch.StartToClose
	return ""
}

func (d *draft) readRetry(raw []byte) string {
	if raw[0] != '{' {
		return "must be a JSON object"
	}
	patch, err := config.DecodeRetryJSON("retry", raw)
	if err != nil {
		return d.configFaults(err)
	}
	d.patch.Retry = patch
	return ""
}

// configFaults takes over what config has found, with its paths.
func (d *draft) configFaults(err error) string {
	faults := configFaults(err)
	if faults == nil {
		return err.Error()
	}
	d.faults = append(d.faults, faults...)
	return ""
}

func (d *draft) readResultTTL(raw []byte) string {
	var text string
	if rule := readText(raw, &text, 64); rule != "" {
		return rule
	}
	ttl, err := config.ParseDuration(text)
	if err != nil || ttl < time.Second || ttl > longest {
		return "must be a duration, 1s to 36500d"
	}
	d.resultTTL = ttl
	return ""
}

func (d *draft) readMetadata(raw []byte) string {
	switch {
	case raw[0] != '{':
		return "must be a JSON object"
	case len(raw) > maxMetadata:
		return "must be at most " + config.Size(maxMetadata).String()
	}
	repaired, err := abi.RepairJSON(raw)
	if err != nil {
		return "must be " + strings.TrimPrefix(err.Error(), "not ")
	}
	if !bytes.Equal(repaired, raw) {
		return "must hold no NUL, invalid UTF-8, half surrogate or number beyond 1e300"
	}
	d.job.Metadata = raw
	return ""
}

func (d *draft) readTags(raw []byte) string {
	items, err := elements(raw)
	switch {
	case err != nil:
		return "must be an array of strings"
	case len(items) > abi.MaxTags:
		return fmt.Sprintf("must be at most %d", abi.MaxTags)
	}
	seen := map[string]bool{}
	for i, item := range items {
		var tag string
		rule := readText(item, &tag, abi.MaxTagBytes)
		if rule == "" && seen[tag] {
			rule = "is there twice"
		}
		if rule != "" {
			d.fault(fmt.Sprintf("tags[%d]", i), rule)
			continue
		}
		seen[tag] = true
		d.job.Tags = append(d.job.Tags, tag)
	}
	return ""
}

func (d *draft) readHeaders(raw []byte) string {
	fields, err := members(raw)
	switch {
	case err != nil:
		return err.Error()
	case len(fields) > abi.MaxHeaders:
		return fmt.Sprintf("must be at most %d", abi.MaxHeaders)
	}
	size := 0
	d.job.Headers = make(map[string]string, len(fields))
	for _, f := range fields {
		place := "headers" + "[" + quoteShort(f.name) + "]"
		if !validHeaderName(f.name) {
			d.fault(place, "a header's name must be 1 to 128 letters, digits or !#$%&'*+-.^_`|~")
			continue
		}
		var value string
		if rule := readTextOrNone(f.raw, &value, abi.MaxHeaderBytes); rule != "" {
			d.fault(place, rule)
			continue
		}
		if strings.ContainsAny(value, "\r\n") {
			d.fault(place, "must hold no line break")
			continue
		}
		size += len(f.name) + len(value)
		d.job.Headers[f.name] = value
	}
	if size > abi.MaxHeaderBytes {
		return "must be at most " + config.Size(abi.MaxHeaderBytes).String() + " together"
	}
	return ""
}

func validHeaderName(s string) bool {
	if s == "" || len(s) > maxHeaderName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}
