(module (tag (param i32)))
