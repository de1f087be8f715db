(module
  (import "taskq_v1" "panic" (func $panic (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "no stdio here")
  (func (export "taskq_v1_run") (result i32)
    (call $panic (i32.const 0) (i32.const 13))
    i32.const 0))
