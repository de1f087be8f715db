//! An actor in Rust: the payload's case chooses how the attempt ends.

use std::fmt;
use std::hint::black_box;
use std::time::Duration;
use taskq::{Failure, Level};

taskq::actor!(handle);

fn handle(input: &[u8]) -> Result<Vec<u8>, Failure> {
    let input = std::str::from_utf8(input)?;
    let case = field(input, "case").ok_or_else(|| Failure::new("PayloadValidationError", "the payload has no case"))?;
    taskq::log(Level::Info, &format!("begins with case {case}"));
    match case {
        "typed-error" => return Err(SoldOut { item: "tickets".into(), source: "x".parse::<u8>().unwrap_err() }.into()),
        "permanent" => return Err(Failure::new("shop.Closed", "for good").is_a("shop.Error").permanent()),
        "fails-twice" if taskq::fact("attempt") < 3 => return Err(Failure::new("shop.Busy", "not this time")),
        "snooze-twice" if taskq::fact("snooze_count") < 2 => taskq::snooze(Duration::from_millis(100)),
        "retry-after" if taskq::fact("attempt") < 2 => taskq::retry_after(Duration::from_millis(100), true),
        "panic" => panic!("boom: {}", field(input, "name").unwrap_or("world")),
        "out-of-bounds" => _ = [1, 2, 3][black_box(7)],
        "endless-loop" => loop {
            black_box(());
        },
        "recursion" => _ = fib(black_box(200)),
        "stack-overflow" => _ = deeper(black_box(0)),
        "memory-bomb" => memory_bomb(),
        _ => {}
    }
    let name = field(input, "name").unwrap_or("world");
    Ok(format!("{{\"greeting\":\"hello, {name}\"}}").into_bytes())
}

/// A field of the flat object that the demo sends; real actors use serde.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

#[derive(Debug)]
struct SoldOut {
    item: String,
    source: std::num::ParseIntError,
}

impl fmt::Display for SoldOut {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} are sold out", self.item)
    }
}

impl std::error::Error for SoldOut {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Calls itself and never loops.
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
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
