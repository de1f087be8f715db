;; What AssemblyScript does at a throw.
(module
  (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 12) "\08\00\00\00b\00o\00o\00m\00")
  (data (i32.const 60) "\08\00\00\00a\00.\00t\00s\00")
  (func (export "taskq_v1_run") (result i32)
    (call $abort (i32.const 16) (i32.const 64) (i32.const 31) (i32.const 24))
    unreachable))
