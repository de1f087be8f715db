(module (func (drop (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 32
  (v128.const i64x2 0 0) (v128.const i64x2 0 0)))))
