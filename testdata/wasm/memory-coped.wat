;; Is denied, asks for less, gets it, and dies of something else.
(module (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (drop (memory.grow (i32.const 60000)))
    (drop (memory.grow (i32.const 1)))
    unreachable))
