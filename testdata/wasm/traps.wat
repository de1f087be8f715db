;; The first byte of the payload chooses a trap.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (type $nothing (func))
  (type $number (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 4 funcref)
  (elem (i32.const 0) $fine)
  (func $fine)
  (func $zero (result i32) i32.const 0)
  (func $unreachable unreachable)
  (func $out_of_bounds (drop (i32.load (i32.const 65535))))
  (func $divide (drop (i32.div_s (i32.const 1) (call $zero))))
  (func $overflow (drop (i32.div_s (i32.const 0x80000000) (i32.const -1))))
  (func $convert (drop (i32.trunc_f32_s (f32.const nan))))
  (func $table_null (call_indirect (type $nothing) (i32.const 2)))
  (func $table_end (call_indirect (type $nothing) (i32.const 9)))
  (func $signature (drop (call_indirect (type $number) (i32.const 1) (i32.const 0))))
  (func $recurse (param i32) (result i32)
    (i32.add (i32.const 1) (call $recurse (i32.add (local.get 0) (i32.const 1)))))
  (func (export "taskq_v1_run") (result i32)
    (local $which i32)
    (drop (call $read (i32.const 0) (i32.const 1)))
    (local.set $which (i32.load8_u (i32.const 0)))
    (if (i32.eq (local.get $which) (i32.const 0x75)) (then (call $unreachable)))     ;; u
    (if (i32.eq (local.get $which) (i32.const 0x6f)) (then (call $out_of_bounds)))   ;; o
    (if (i32.eq (local.get $which) (i32.const 0x64)) (then (call $divide)))          ;; d
    (if (i32.eq (local.get $which) (i32.const 0x76)) (then (call $overflow)))        ;; v
    (if (i32.eq (local.get $which) (i32.const 0x63)) (then (call $convert)))         ;; c
    (if (i32.eq (local.get $which) (i32.const 0x6e)) (then (call $table_null)))      ;; n
    (if (i32.eq (local.get $which) (i32.const 0x65)) (then (call $table_end)))       ;; e
    (if (i32.eq (local.get $which) (i32.const 0x73)) (then (call $signature)))       ;; s
    (if (i32.eq (local.get $which) (i32.const 0x72)) (then (drop (call $recurse (i32.const 0))))) ;; r
    i32.const 0))
