(module (memory 1 2 shared))
