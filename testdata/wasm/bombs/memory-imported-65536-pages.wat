(module (import "env" "memory" (memory 65536)))
