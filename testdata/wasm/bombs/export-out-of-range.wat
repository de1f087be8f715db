(module (func) (export "f" (func 1)))
