(module (memory 2 1))
