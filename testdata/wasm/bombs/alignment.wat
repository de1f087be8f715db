(module (memory 1) (func (drop (i32.load8_u align=2 (i32.const 0)))))
