;; A command that exits with the number its payload spells, having printed
;; "out" and "err".
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\00\01\00\00\40\00\00\00")   ;; iovec: 64 bytes at 256
  (data (i32.const 8) "\40\00\00\00\03\00\00\00")   ;; iovec: "out"
  (data (i32.const 16) "\44\00\00\00\03\00\00\00")  ;; iovec: "err"
  (data (i32.const 64) "out err")
  (func (export "_start")
    (local $at i32) (local $n i32) (local $code i32)
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
    (local.set $n (i32.load (i32.const 32)))
    (drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 32)))
    (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 32)))
    (block (loop
      (br_if 1 (i32.ge_u (local.get $at) (local.get $n)))
      (local.set $code (i32.add (i32.mul (local.get $code) (i32.const 10))
        (i32.sub (i32.load8_u (i32.add (i32.const 256) (local.get $at))) (i32.const 0x30))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br 0)))
    (call $exit (local.get $code))))
