;; Logs 10,000 lines of 64 KiB of "x".
(module
  (import "taskq_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (local $i i32)
    (memory.fill (i32.const 0) (i32.const 0x78) (i32.const 65536))
    (loop
      (call $log (i32.const 2) (i32.const 0) (i32.const 65536))
      (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 10000))))
    i32.const 0))
