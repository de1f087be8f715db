(module (func (drop (i32.load (i32.const 0)))))
