;; fib(60): no loop anywhere, and it would run for years.
(module (memory (export "memory") 1)
  (func $fib (param i64) (result i64)
    (if (result i64) (i64.lt_u (local.get 0) (i64.const 2)) (then (local.get 0))
      (else (i64.add (call $fib (i64.sub (local.get 0) (i64.const 1)))
                     (call $fib (i64.sub (local.get 0) (i64.const 2)))))))
  (func (export "taskq_v1_run") (result i32) (i32.wrap_i64 (call $fib (i64.const 60)))))
