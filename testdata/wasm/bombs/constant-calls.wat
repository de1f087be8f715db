(module (func $f (result i32) (i32.const 0)) (global i32 (call $f)))
