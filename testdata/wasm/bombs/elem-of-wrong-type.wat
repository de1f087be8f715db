(module (table 1 externref) (func $f) (elem (table 0) (i32.const 0) func $f))
