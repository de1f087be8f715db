;; Snoozes for no time at all until the facts count a thousand snoozes.
(module
  (import "taskq_v1" "meta_read" (func $meta (param i32 i32) (result i32)))
  (import "taskq_v1" "snooze" (func $snooze (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (local $n i32) (local $p i32) (local $digits i32)
    (local.set $n (call $meta (i32.const 0) (i32.const 65536)))
    (block $absent
      (loop $next
        (br_if $absent (i32.gt_s (i32.add (local.get $p) (i32.const 14)) (local.get $n)))
        (if (i64.ne (i64.load (local.get $p)) (i64.const 0x6f635f657a6f6f6e)) ;; nooze_co
          (then (local.set $p (i32.add (local.get $p) (i32.const 1))) (br $next))))
      (local.set $p (i32.add (local.get $p) (i32.const 13))) ;; behind nooze_count":
      (loop $more
        (if (i32.lt_u (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)) (i32.const 10))
          (then
            (local.set $digits (i32.add (local.get $digits) (i32.const 1)))
            (local.set $p (i32.add (local.get $p) (i32.const 1)))
            (br $more))))
      (if (i32.ge_u (local.get $digits) (i32.const 4)) (then (return (i32.const 0)))))
    (drop (call $snooze (i64.const 0)))
    unreachable))
