;; No memory at all, and none to be had.
(module (memory (export "memory") 0 0)
  (func (export "taskq_v1_run") (result i32)
    (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
    i32.const 0))
