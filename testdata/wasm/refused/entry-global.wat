(module (memory (export "memory") 1) (global (export "taskq_v1_run") i32 (i32.const 0)))
