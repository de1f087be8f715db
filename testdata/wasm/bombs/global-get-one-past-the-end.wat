(module (global i64 (i64.const 0)) (func (drop (global.get 1))))
