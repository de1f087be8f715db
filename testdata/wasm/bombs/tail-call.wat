(module (func $f (return_call $f)))
