(module (table 1 funcref) (func (call_indirect (type 7) (i32.const 0))))
