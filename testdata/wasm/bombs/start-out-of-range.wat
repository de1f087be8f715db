(module (start 0))
