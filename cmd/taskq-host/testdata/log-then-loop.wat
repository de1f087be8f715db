;; Logs "here" and then loops for ever: something that a test can wait for.
(module
  (import "taskq_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "here")
  (func (export "taskq_v1_run") (result i32)
    (call $log (i32.const 2) (i32.const 0) (i32.const 4))
    (loop (br 0))
    i32.const 0))
