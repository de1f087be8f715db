(module (table 1 funcref) (elem (i32.const 0) 3))
