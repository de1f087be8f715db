(module (global (export "taskq_fuel") (mut i64) (i64.const 0)))
