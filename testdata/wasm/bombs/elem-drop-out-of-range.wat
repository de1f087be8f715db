(module (func (elem.drop 0)))
