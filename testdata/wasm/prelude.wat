;; Everything that comes before the entry, in order: each pushes a digit into
;; a global; the entry returns 1234 less what it found. Before the attempt there
;; is no input.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $seen (mut i32) (i32.const 0))
  (func $see (param i32) (global.set $seen (i32.add (i32.mul (global.get $seen) (i32.const 10)) (local.get 0))))
  (func $start (call $see (i32.const 1)))
  (start $start)
  (func (export "_initialize")
    (if (i32.ne (call $read (i32.const 0) (i32.const 0)) (i32.const -2)) (then unreachable))
    (call $see (i32.const 2)))
  (func (export "taskq_v1_warm") (result i32) (call $see (i32.const 3)) i32.const 0)
  (func (export "taskq_v1_resume") (call $see (i32.const 4)))
  (func (export "taskq_v1_run") (result i32)
    (i32.sub (i32.const 1234) (global.get $seen))))
