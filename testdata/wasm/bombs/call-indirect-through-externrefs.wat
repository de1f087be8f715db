(module (table 1 externref) (func (call_indirect (i32.const 0))))
