(module (global i32 (i64.const 0)))
