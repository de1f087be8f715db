(module (memory (export "memory") 1) (func (export "taskq_v1_run") (param i32) (result i32) i32.const 0))
