// Package classifier asks classifiers and mappers that are WebAssembly modules.
// They get a record and answer one; see [classify.Question.Record],
// [classify.ParseAnswer] and [classify.ParseVerdict].
//
// Each question runs in a pristine instance under small limits of its own and
// without any capability: no facts of the attempt, no clock, no chance. So an
// answer is a pure function of the module and the record, and is remembered
// by both. Whatever goes wrong is an error of [Classifier.Classify]: the
// ladder skips the classifier, and the job goes on.
package classifier
