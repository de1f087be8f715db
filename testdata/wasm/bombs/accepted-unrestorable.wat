;; Accepted, but an instance can't be restored: it writes to its table, drops
;; segments and has mutable globals that a host can't set.
(module
  (memory (export "memory") 1)
  (table 4 4 funcref)
  (global $v (mut v128) (v128.const i64x2 0 0))
  (global $r (mut externref) (ref.null extern))
  (global $i (mut i32) (i32.const 0))
  (elem $e func $f)
  (data $d "x")
  (func $f
    (table.set 0 (i32.const 0) (ref.null func))
    (drop (table.grow 0 (ref.null func) (i32.const 0)))
    (table.fill 0 (i32.const 0) (ref.null func) (i32.const 1))
    (table.init $e (i32.const 0) (i32.const 0) (i32.const 1))
    (table.copy (i32.const 0) (i32.const 1) (i32.const 1))
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))
    (elem.drop $e)
    (data.drop $d)))
