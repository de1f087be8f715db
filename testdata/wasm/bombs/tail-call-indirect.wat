(module (table 1 funcref) (func (return_call_indirect (i32.const 0))))
