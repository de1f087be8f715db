;; The attack on fuel: the engine would refuse this, but once a rewriter has
;; appended its own global, index 1 is right, and is the fuel.
(module
  (global (mut i64) (i64.const 0))
  (func (export "taskq_v1_run") (result i32)
    (global.set 1 (i64.const 9223372036854775807))
    (i32.const 0)))
