package abi

import "strings"

// Classes that the host gives. A class names what happened; its ancestors go
// from specific to general, so that a rule on an ancestor covers its whole
// family.
const (
	ClassGuestError         = "GuestError"
	ClassGuestPanic         = "GuestPanic"
	ClassGuestDeadlock      = "GuestDeadlock"
	ClassGuestExit          = "GuestExit"
	ClassGuestDeath         = "GuestDeath"
	ClassGuestStackOverflow = "GuestStackOverflow"
	ClassGuestOutOfMemory   = "GuestOutOfMemory"
	ClassGuestOutOfFuel     = "GuestOutOfFuel"
	ClassGuestTrap          = "GuestTrap"

	ClassTrapUnreachable       = "GuestTrap.Unreachable"
	ClassTrapOutOfBounds       = "GuestTrap.OutOfBounds"
	ClassTrapDivideByZero      = "GuestTrap.DivideByZero"
	ClassTrapIntegerOverflow   = "GuestTrap.IntegerOverflow"
	ClassTrapBadConversion     = "GuestTrap.BadConversion"
	ClassTrapTableAccess       = "GuestTrap.TableAccess"
	ClassTrapSignatureMismatch = "GuestTrap.SignatureMismatch"

	ClassTimeout       = "TimeoutError"
	ClassHostFault     = "HostFault"
	ClassLimitExceeded = "LimitExceeded"
	ClassLimitDenied   = "LimitDenied"
	ClassModuleInit    = "ModuleInit"

	ClassAlwaysTerminal    = "AlwaysTerminal"
	ClassPayloadValidation = "PayloadValidationError"
	ClassPayloadRejected   = "PayloadRejected"
	ClassUnencodableValue  = "UnencodableValue"
	ClassResultTooLarge    = "ResultTooLarge"
	ClassAbiViolation      = "AbiViolation"
	ClassNonDeterminism    = "NonDeterminism"

	ClassDeadlineExceeded    = "DeadlineExceeded"
	ClassMaxAttemptsExceeded = "MaxAttemptsExceeded"
	ClassWorkerCrashed       = "WorkerCrashed"
	ClassWorkerStopped       = "WorkerStopped"
	ClassHeartbeatLost       = "HeartbeatLost"
	ClassOwnershipMismatch   = "WorkerOwnershipMismatch"
	ClassUnroutable          = "Unroutable"
)

var ancestors = map[string][]string{
	ClassGuestPanic:            {ClassGuestDeath},
	ClassGuestDeadlock:         {ClassGuestPanic, ClassGuestDeath},
	ClassGuestExit:             {ClassGuestDeath},
	ClassGuestStackOverflow:    {ClassGuestTrap, ClassGuestDeath},
	ClassGuestOutOfMemory:      {ClassLimitExceeded, ClassGuestDeath},
	ClassGuestOutOfFuel:        {ClassLimitExceeded, ClassGuestDeath},
	ClassTrapUnreachable:       {ClassGuestTrap, ClassGuestDeath},
	ClassTrapOutOfBounds:       {ClassGuestTrap, ClassGuestDeath},
	ClassTrapDivideByZero:      {ClassGuestTrap, ClassGuestDeath},
	ClassTrapIntegerOverflow:   {ClassGuestTrap, ClassGuestDeath},
	ClassTrapBadConversion:     {ClassGuestTrap, ClassGuestDeath},
	ClassTrapTableAccess:       {ClassGuestTrap, ClassGuestDeath},
	ClassTrapSignatureMismatch: {ClassGuestTrap, ClassGuestDeath},
	ClassResultTooLarge:        {ClassAlwaysTerminal},
	ClassUnencodableValue:      {ClassAlwaysTerminal},
	ClassPayloadValidation:     {ClassAlwaysTerminal},
	ClassAbiViolation:          {ClassAlwaysTerminal},
	ClassNonDeterminism:        {ClassAlwaysTerminal},
}

// Ancestors gives the ancestors of a class of the host's own, from specific
// to general; nil for a class that has none. The slice is the caller's.
func Ancestors(class string) []string {
	return append([]string(nil), ancestors[class]...)
}

// Reserved reports whether a guest's record may not carry this class: such a
// name is kept as text but classed GuestError. PayloadValidationError and
// UnencodableValue may come from a guest.
func Reserved(class string) bool {
	switch class {
	case ClassHostFault, ClassLimitExceeded, ClassLimitDenied, ClassAlwaysTerminal, ClassModuleInit,
		ClassAbiViolation, ClassNonDeterminism, ClassDeadlineExceeded, ClassMaxAttemptsExceeded,
		ClassHeartbeatLost, ClassResultTooLarge:
		return true
	}
	return strings.HasPrefix(class, "Guest") || strings.HasPrefix(class, "Worker")
}

// AlwaysTerminal reports whether a failure of this class ends its job without
// anybody being asked (rung 3 of the ladder).
func AlwaysTerminal(class string) bool {
	switch class {
	case ClassPayloadValidation, ClassResultTooLarge, ClassUnencodableValue, ClassAbiViolation, ClassNonDeterminism:
		return true
	}
	return false
}
