package retry

import (
	"math"
	"math/big"
	"strconv"
	"time"
)

// RawDelay is the curve after failed attempt n, counted from 1: never above
// Cap, never negative, without jitter. No n overflows.
func (p Policy) RawDelay(n int) time.Duration {
	n = max(n, 1)
	switch p.Backoff {
	case Linear:
		if p.Base <= 0 || int64(n) >= int64(p.Cap/p.Base)+1 {
			return p.Cap
		}
		return min(p.Base*time.Duration(n), p.Cap)
	case Exponential:
		return p.exponential(n - 1)
	}
	return min(p.Base, p.Cap)
}

// exponential is Base·Multiplier^k under Cap.
func (p Policy) exponential(k int) time.Duration {
	// The estimate is far better than a millionth, so it settles every k
	// whose power is astronomic, and what is left is small enough to be exact.
	estimate := float64(p.Base) * math.Pow(p.Multiplier, float64(k))
	if !(estimate <= float64(p.Cap)*1.000001) {
		return p.Cap
	}
	if p.Multiplier == math.Trunc(p.Multiplier) {
		d := p.Base
		for range k {
			if d > p.Cap/time.Duration(p.Multiplier) {
				return p.Cap
			}
			d *= time.Duration(p.Multiplier)
			if p.Multiplier == 1 {
				break
			}
		}
		return min(d, p.Cap)
	}
	return min(p.exactly(k), p.Cap)
}

// exactly computes the power of the decimal number that the multiplier was
// written as, because 1s · 1.7² must be 2.89s and not the 2.889999…s of binary
// fractions. The result is rounded down to the nanosecond.
func (p Policy) exactly(k int) time.Duration {
	const precision = 256
	number := func() *big.Float { return new(big.Float).SetPrec(precision) }
	factor, ok := number().SetString(strconv.FormatFloat(p.Multiplier, 'g', -1, 64))
	if !ok {
		return p.Cap
	}
	product := number().SetInt64(int64(p.Base))
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			product.Mul(product, factor)
		}
		factor.Mul(factor, factor)
	}
	// The last bits are rounding: without this a whole number may show as
	// one less.
	slack := number().SetMantExp(product, -precision/2)
	ns, accuracy := product.Add(product, slack).Int64()
	if ns == math.MaxInt64 && accuracy == big.Below {
		return p.Cap
	}
	return time.Duration(ns)
}

// EffectiveCap is the highest delay that this policy computes on a host with
// that max_retry_backoff.
func (p Policy) EffectiveCap(maxRetryBackoff time.Duration) time.Duration {
	return min(p.Cap, maxRetryBackoff)
}

// NextDelay is what is shown as the delay after failed attempt n: the curve's,
// undrawn, under the effective cap, in whole milliseconds rounded down.
func (p Policy) NextDelay(n int, maxRetryBackoff time.Duration) time.Duration {
	return wholeMS(min(p.RawDelay(n), p.EffectiveCap(maxRetryBackoff)))
}

func wholeMS(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }
