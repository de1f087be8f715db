(module (func (drop (ref.func 1))))
