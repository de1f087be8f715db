(module (import "env" "memory" (memory 1)) (export "memory" (memory 0)) (func (export "taskq_v1_run") (result i32) i32.const 0))
