(module (memory (export "memory") 1)
  (func (export "taskq_v1_warm") (result i32) i32.const 9)
  (func (export "taskq_v1_run") (result i32) i32.const 0))
