;; Beats until a bit is set, and returns the bits.
(module
  (import "taskq_v1" "heartbeat" (func $beat (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (local $bits i32)
    (loop (br_if 0 (i32.eqz (local.tee $bits (call $beat)))))
    (local.get $bits)))
