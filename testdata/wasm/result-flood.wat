;; Pushes 64 KiB again and again, ignoring the answer.
(module
  (import "taskq_v1" "output_write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (loop (drop (call $write (i32.const 0) (i32.const 65536))) (br 0))
    i32.const 0))
