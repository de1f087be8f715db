(module (import "env" "g" (global (mut i32))) (global i32 (global.get 0)))
