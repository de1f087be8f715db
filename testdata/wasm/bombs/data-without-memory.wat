(module (data (i32.const 0) "x"))
