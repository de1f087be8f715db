;; Fails when memory, a global or a grown page holds anything of an earlier
;; attempt, then leaves its mark everywhere.
(module
  (memory (export "memory") 1)
  (global $mark (mut i32) (i32.const 0))
  (data (i32.const 16) "image")
  (func (export "taskq_v1_run") (result i32)
    (local $at i32) (local $end i32)
    (if (global.get $mark) (then (return (i32.const 1))))
    (if (i32.ne (memory.size) (i32.const 1)) (then (return (i32.const 2))))
    (if (i32.ne (memory.grow (i32.const 31)) (i32.const 1)) (then (return (i32.const 3))))
    (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 0x69)) (then (return (i32.const 4))))
    (local.set $at (i32.const 24))
    (local.set $end (i32.const 2097152))
    (loop
      (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then (return (i32.const 5))))
      (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (local.get $end))))
    (memory.fill (i32.const 0) (i32.const 0xaa) (local.get $end))
    (global.set $mark (i32.const 1))
    i32.const 0))
