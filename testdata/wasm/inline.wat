;; Fails until it is the second quick repetition of its attempt; then it pushes
;; the attempt's facts.
(module
  (import "taskq_v1" "meta_read" (func $meta (param i32 i32) (result i32)))
  (import "taskq_v1" "output_write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (local $n i32) (local $p i32)
    (local.set $n (call $meta (i32.const 0) (i32.const 65536)))
    (loop $next
      (if (i32.gt_s (i32.add (local.get $p) (i32.const 9)) (local.get $n)) (then (return (i32.const 1))))
      (if (i64.ne (i64.load (local.get $p)) (i64.const 0x3a22656e696c6e69)) ;; inline":
        (then (local.set $p (i32.add (local.get $p) (i32.const 1))) (br $next))))
    (if (i32.lt_u (i32.load8_u (i32.add (local.get $p) (i32.const 8))) (i32.const 0x32)) (then (return (i32.const 1))))
    (drop (call $write (i32.const 0) (local.get $n)))
    i32.const 0))
