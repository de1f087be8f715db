;; A command: the first byte of the payload chooses stdout or stderr (o, e);
;; the rest is copied there in pieces of 7 bytes.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\00\01\00\00\01\00\00\00")
  (func (export "_start")
    (local $fd i32)
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
    (local.set $fd (select (i32.const 2) (i32.const 1) (i32.eq (i32.load8_u (i32.const 256)) (i32.const 0x65))))
    (i32.store (i32.const 8) (i32.const 256))
    (block (loop
      (i32.store (i32.const 4) (i32.const 7))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
      (br_if 1 (i32.eqz (i32.load (i32.const 32))))
      (i32.store (i32.const 12) (i32.load (i32.const 32)))
      (drop (call $fd_write (local.get $fd) (i32.const 8) (i32.const 1) (i32.const 32)))
      (br 0)))))
