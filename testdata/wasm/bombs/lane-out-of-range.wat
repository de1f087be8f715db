(module (func (drop (i32x4.extract_lane 4 (v128.const i64x2 0 0)))))
