;; A hook that traps where its job succeeded, and loops where it failed. It runs
;; no jobs of its own.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_hook") (result i32)
    (drop (call $read (i32.const 0) (i32.const 1024)))
    (if (i32.eq (i32.load8_u (i32.const 10)) (i32.const 0x73)) (then unreachable)) ;; {"event":"s
    (loop $ever (br $ever))
    i32.const 0))
