(module (func $f (param i32)) (start $f))
