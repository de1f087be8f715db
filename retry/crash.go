package retry

// Reclaim decides what comes after an attempt whose worker is gone. The
// attempt is spent; the budget's rule is that of failures. The delay is the
// curve's, drawn by [ReclaimDelay] and at least MinDeferral: whatever took the
// worker down may be this job.
//
// Policy is the one that holds now, resolved anew.
func Reclaim(policy Policy, settings Settings, job [16]byte, attempt int) Decision {
	if spent(policy.Kind, attempt, policy.MaxAttempts) != NotDead {
		return Decision{Kind: policy.Kind, Reason: CrashExhausted}
	}
	delay := ReclaimDelay(policy.Band(attempt, settings.MaxRetryBackoff), job, attempt)
	return Decision{Retry: true, Kind: policy.Kind, Delay: max(delay, settings.MinDeferral)}
}

// Interrupt decides what comes after an attempt that its own worker stopped
// because it was told to stop itself. The attempt is spent, and the job is
// due at once.
func Interrupt(policy Policy, attempt int) Decision {
	if spent(policy.Kind, attempt, policy.MaxAttempts) != NotDead {
		return Decision{Kind: policy.Kind, Reason: CrashExhausted}
	}
	return Decision{Retry: true, Kind: policy.Kind}
}

// Poisoned reports whether a claimed job must be dead-lettered unrun, class
// MaxAttemptsExceeded: a change of policy took its budget away after it was
// rescheduled. Attempt is the claim's own number.
//
// Lifted is the kind that the last decision took in place of the policy's
// (a classifier's indefinite, a guest's mark), empty if it took none. Without
// it every retry that an override granted beyond the policy would be killed
// at its claim.
func Poisoned(policy Policy, lifted Kind, attempt int) bool {
	kind := policy.Kind
	if lifted != "" {
		kind = lifted
	}
	switch kind {
	case Indefinite:
		return false
	case Transient:
		return attempt > policy.MaxAttempts
	}
	return attempt > 1
}
