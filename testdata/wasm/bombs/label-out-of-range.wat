(module (func (block (br 2))))
