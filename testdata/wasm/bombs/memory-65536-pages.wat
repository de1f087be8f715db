;; 4 GiB from the start.
(module (memory (export "memory") 65536))
