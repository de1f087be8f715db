;; Would call what a rewriter appends.
(module (func (call 1)))
