;; A classifier or mapper that answers its own settings: what stands behind the
;; key "settings" of its input is pushed as it is. None: no opinion. By the first
;; letter of the settings' first key it does otherwise: l loops, t traps,
;; n answers nonsense, z returns 7, m asks for more memory than it gets.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "taskq_v1" "output_write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 8)
  (func (export "taskq_v1_classify") (result i32)
    (local $n i32) (local $p i32) (local $c i32)
    (local.set $n (call $read (i32.const 0) (i32.const 524288)))
    (loop $next
      (if (i32.gt_s (i32.add (local.get $p) (i32.const 12)) (local.get $n)) (then (return (i32.const 0))))
      (if (i64.ne (i64.load (local.get $p)) (i64.const 0x73676e6974746573)) ;; "settings"
        (then (local.set $p (i32.add (local.get $p) (i32.const 1))) (br $next))))
    (local.set $p (i32.add (local.get $p) (i32.const 10)))
    (local.set $c (i32.load8_u (i32.add (local.get $p) (i32.const 2))))
    (if (i32.eq (local.get $c) (i32.const 0x6c)) (then (loop $ever (br $ever))))
    (if (i32.eq (local.get $c) (i32.const 0x74)) (then unreachable))
    (if (i32.eq (local.get $c) (i32.const 0x6e)) (then
      (i32.store8 (i32.const 0) (i32.const 0x21))
      (drop (call $write (i32.const 0) (i32.const 1)))
      (return (i32.const 1))))
    (if (i32.eq (local.get $c) (i32.const 0x7a)) (then (return (i32.const 7))))
    (if (i32.eq (local.get $c) (i32.const 0x6d)) (then
      (if (i32.eq (memory.grow (i32.const 300)) (i32.const -1)) (then unreachable))))
    (drop (call $write (local.get $p) (i32.sub (i32.sub (local.get $n) (local.get $p)) (i32.const 1))))
    i32.const 1))
