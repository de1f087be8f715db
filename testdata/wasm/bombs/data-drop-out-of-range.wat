(module (memory 1) (data "x") (func (data.drop 1)))
