;; Accepted, and given maxima by the rewriter: a memory and a table that say
;; no maximum and grow as far as they are let.
(module
  (memory (export "memory") 1)
  (table (export "table") 1 funcref)
  (func (export "grow") (result i32 i32)
    (memory.grow (i32.const 65535))
    (table.grow 0 (ref.null func) (i32.const 100000000))))
