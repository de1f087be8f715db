;; Recursion as C does it: a stack in memory that grows down to 0.
(module
  (memory (export "memory") 1)
  (global $sp (mut i32) (i32.const 65536))
  (func $recurse (param i32) (result i32)
    (global.set $sp (i32.sub (global.get $sp) (i32.const 256)))
    (i32.store (global.get $sp) (local.get 0))
    (i32.add (i32.const 1) (call $recurse (i32.add (local.get 0) (i32.const 1)))))
  (func (export "taskq_v1_run") (result i32) (call $recurse (i32.const 0))))
