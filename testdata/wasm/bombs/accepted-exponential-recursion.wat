;; Accepted, and rewritten so that it can be stopped: without a loop, down(n)
;; calls down(n - 1) twice, so 2^n calls are made.
(module
  (memory (export "memory") 1)
  (func $down (export "down") (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 1))
      (else
        (i32.add
          (call $down (i32.sub (local.get $n) (i32.const 1)))
          (call $down (i32.sub (local.get $n) (i32.const 1))))))))
