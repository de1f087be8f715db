(module (export "memory" (memory 0)))
