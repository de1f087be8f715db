package retry

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// Band is what a computed delay is drawn from: whole milliseconds, both ends
// rounded down.
type Band struct {
	Low, High time.Duration
}

const millionths = 1_000_000

// BandOf fits [raw·(1-jitter), raw·(1+jitter)] under the cap. It is fitted
// before the draw: a cohort at the cap spreads out below it, where clamping
// drawn delays would gather half of it on the cap itself. Jitter counts in
// millionths, so the ends are the same on every machine.
func BandOf(raw, effectiveCap time.Duration, jitter float64) Band {
	top := uint64(max(effectiveCap, 0))
	center := min(uint64(max(raw, 0)), top)
	j := uint64(math.Round(min(max(jitter, 0), 1) * millionths))
	low := mulMillionths(center, millionths-j)
	high := min(mulMillionths(center, millionths+j), top)
	return Band{Low: wholeMS(time.Duration(low)), High: wholeMS(time.Duration(high))}
}

// mulMillionths is a·m/10^6 rounded down, for a below 2^63 and m up to 2·10^6.
func mulMillionths(a, m uint64) uint64 {
	hi, lo := bits.Mul64(a, m)
	quotient, _ := bits.Div64(hi, lo, millionths)
	return quotient
}

// Band is the band after failed attempt n on a host with that
// max_retry_backoff.
func (p Policy) Band(n int, maxRetryBackoff time.Duration) Band {
	return BandOf(p.RawDelay(n), p.EffectiveCap(maxRetryBackoff), p.Jitter)
}

// Draw picks a delay uniformly, in whole milliseconds; u is 64 random bits.
func (b Band) Draw(u uint64) time.Duration {
	width := uint64(max(b.High-b.Low, 0) / time.Millisecond)
	offset, _ := bits.Mul64(width, u)
	return b.Low + time.Duration(offset)*time.Millisecond
}

// ReclaimDelay is the draw for an attempt that crashed, from a hash of job and
// attempt: it needs no randomness inside a sweep's transaction, and a fleet
// that reclaims many jobs at once doesn't send them off at once again. It
// isn't floored; [Reclaim] does that.
func ReclaimDelay(b Band, job [16]byte, attempt int) time.Duration {
	var seed [20]byte
	copy(seed[:], job[:])
	binary.BigEndian.PutUint32(seed[16:], uint32(attempt))
	sum := sha256.Sum256(seed[:])
	return b.Draw(binary.BigEndian.Uint64(sum[:8]))
}
