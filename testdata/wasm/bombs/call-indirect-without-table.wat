(module (func (call_indirect (i32.const 0))))
