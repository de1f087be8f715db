(module (func (block (br_table 0 1 4294967295 0 (i32.const 0)))))
