// Package classify decides what becomes of an attempt that has ended. An end
// goes down a ladder of nine rungs, the first that matches decides, and its
// name is kept with the attempt so that an operator sees which rule fired:
//
//	ownership          the job is no longer ours: no verdict at all
//	cancel             somebody asked for it, whatever the body answered
//	always_terminal    classes that no repetition can help
//	mapper             the actor's own mapper, whose answer is final
//	guest              the body said so: a signal, or a mark on its failure
//	deny               globs of the actor and the queue that forbid a retry
//	classifier:<name>  the chain, in order
//	allow              globs of the queue that permit one
//	policy             the policy's kind
//
// [Ladder.Decide] is total: whatever comes in, and whatever a classifier does,
// there is exactly one decision. The budget and the delays are package
// retry's. The deadline is no rung: it is arbitrated by the statement that
// writes the decision.
//
// Classifiers and mappers are asked through [Classifier] and [Mapper]; those
// in WebAssembly speak the records of [Question.Record], [ParseAnswer] and
// [ParseVerdict].
package classify
