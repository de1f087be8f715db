package store

// ClaimSQL is the claim's statement, for tests that look at its plan.
const ClaimSQL = claimSQL
