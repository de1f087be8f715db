package store

import "fmt"

// Status is a job's state as people see it. The stored values are those of
// finished.status; the others are derived from where the job's row is.
type Status int16

// The states, in the order of a job's life.
const (
	Pending   Status = 1
	Scheduled Status = 2
	Waiting   Status = 3
	Running   Status = 4

	Succeeded Status = 10
	Failed    Status = 11
	Cancelled Status = 12
	Crashed   Status = 13
	Abandoned Status = 14
)

var statusNames = map[Status]string{
	Pending: "pending", Scheduled: "scheduled", Waiting: "waiting", Running: "running",
	Succeeded: "succeeded", Failed: "failed", Cancelled: "cancelled", Crashed: "crashed", Abandoned: "abandoned",
}

// Terminal reports whether a job in this state has ended.
func (s Status) Terminal() bool { return s >= Succeeded }

func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("status(%d)", int16(s))
}

// MarshalText gives the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the name.
func (s *Status) UnmarshalText(b []byte) error {
	v, err := ParseStatus(string(b))
	*s = v
	return err
}

// ParseStatus reads a state's name.
func ParseStatus(name string) (Status, error) {
	for s, n := range statusNames {
		if n == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("status %q is unknown: want pending, scheduled, waiting, running, succeeded, failed, cancelled, crashed or abandoned", name)
}

// ScheduleReason says why a job waits for its time.
type ScheduleReason int16

// Why a job can be scheduled.
const (
	ReasonDelay      ScheduleReason = 1 // the enqueue said so
	ReasonRetry      ScheduleReason = 2
	ReasonSnooze     ScheduleReason = 3
	ReasonRetryAfter ScheduleReason = 4
	ReasonReclaim    ScheduleReason = 5
)

var scheduleReasons = map[ScheduleReason]string{
	ReasonDelay: "delay", ReasonRetry: "retry", ReasonSnooze: "snooze", ReasonRetryAfter: "retry_after", ReasonReclaim: "reclaim",
}

func (r ScheduleReason) String() string { return scheduleReasons[r] }

// AttemptOutcome is how an attempt that has a row of its own ended.
type AttemptOutcome int16

// How an attempt can end.
const (
	AttemptFailed     AttemptOutcome = 1
	AttemptSnoozed    AttemptOutcome = 2
	AttemptRetryAfter AttemptOutcome = 3
	AttemptCrashed    AttemptOutcome = 4
	AttemptCancelled  AttemptOutcome = 5
	AttemptSucceeded  AttemptOutcome = 6 // never stored: derived from finished
)

var attemptOutcomes = map[AttemptOutcome]string{
	AttemptFailed: "failed", AttemptSnoozed: "snoozed", AttemptRetryAfter: "retry_after",
	AttemptCrashed: "crashed", AttemptCancelled: "cancelled", AttemptSucceeded: "succeeded",
}

func (o AttemptOutcome) String() string { return attemptOutcomes[o] }

// MarshalText gives the name.
func (o AttemptOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
