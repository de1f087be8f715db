(module (memory (export "memory") 1) (func (export "taskq_v1_run") (result i32) i32.const 0) (func (export "taskq_v1_runn") (result i32) i32.const 0))
