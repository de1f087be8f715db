;; More than 32 bits can address.
(module (memory 1 65537))
