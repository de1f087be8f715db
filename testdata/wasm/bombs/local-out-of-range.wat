(module (func (param i32) (local i32) (drop (local.get 2))))
