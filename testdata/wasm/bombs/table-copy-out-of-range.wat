(module (table 1 funcref) (func (table.copy 0 1 (i32.const 0) (i32.const 0) (i32.const 0))))
