//! Deaths in Rust, as a WASI command without any SDK: stdin names the one.

use std::hint::black_box;
use std::io::Read;

fn main() -> Result<(), std::num::ParseIntError> {
    let mut word = String::new();
    std::io::stdin().read_to_string(&mut word).expect("stdin is text");
    match word.as_str() {
        "panic" => panic!("boom: {word}"),
        "lines" => panic!("first\nsecond"),
        "unwrap" => _ = black_box(None::<u8>).unwrap(),
        "overflow" => _ = black_box(i32::MAX) + black_box(1),
        "out-of-bounds" => _ = [1, 2, 3][black_box(7)],
        "divide-by-zero" => _ = 1 / black_box(0),
        "abort" => std::process::abort(),
        "exit" => std::process::exit(3),
        "error" => _ = word.parse::<u8>()?,
        "stack-overflow" => _ = deeper(black_box(0)),
        "memory-bomb" => memory_bomb(),
        "allocation" => _ = black_box(Vec::<u8>::with_capacity(1 << 30)),
        _ => {}
    }
    println!("{word:?}");
    Ok(())
}

fn deeper(n: u64) -> u64 {
    let frame = black_box([n; 32]);
    if n == u64::MAX { n } else { deeper(n + 1) + frame[(n & 31) as usize] }
}

fn memory_bomb() {
    let mut held = Vec::new();
    loop {
        held.push(vec![1u8; 1 << 20]);
        black_box(&held);
    }
}
