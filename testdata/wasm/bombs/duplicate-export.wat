(module (func $f) (export "f" (func $f)) (export "f" (func $f)))
