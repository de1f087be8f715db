;; Grows until it is denied, and dies of it as runtimes do.
(module (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (loop
      (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable))
