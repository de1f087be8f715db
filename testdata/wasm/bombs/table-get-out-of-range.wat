(module (table 1 funcref) (func (drop (table.get 1 (i32.const 0)))))
