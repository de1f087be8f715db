(module (func (drop (memory.grow (i32.const 1)))))
