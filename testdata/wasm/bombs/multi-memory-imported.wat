(module (import "env" "memory" (memory 1)) (memory 1))
