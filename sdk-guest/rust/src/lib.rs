//! Guest ABI of taskq-host, version 1, for Rust. No dependencies; it knows
//! bytes, and which crate decodes them is the actor's choice.
//!
//! ```ignore
//! taskq::actor!(greet);
//!
//! fn greet(input: &[u8]) -> Result<Vec<u8>, taskq::Failure> {
//!     let order: Order = serde_json::from_slice(input)?; // any std::error::Error
//!     Ok(serde_json::to_vec(&charge(order)?)?)
//! }
//! ```
//!
//! Build it for wasm32-unknown-unknown with `crate-type = ["cdylib"]` and
//! `panic = "abort"`. A panic ends the attempt as a GuestPanic with its text.

use std::error::Error;
use std::fmt::Write;
use std::sync::Once;
use std::time::Duration;

mod imports {
    #[link(wasm_import_module = "taskq_v1")]
    unsafe extern "C" {
        pub fn input_read(ptr: *mut u8, cap: usize) -> i32;
        pub fn meta_read(ptr: *mut u8, cap: usize) -> i32;
        pub fn output_write(ptr: *const u8, len: usize) -> i32;
        pub fn fail(ptr: *const u8, len: usize) -> i32;
        pub fn snooze(ms: i64) -> i32;
        pub fn retry_after(ms: i64, consume_budget: i32) -> i32;
        pub fn log(level: i32, ptr: *const u8, len: usize);
        pub fn heartbeat() -> u32;
        pub fn progress(ptr: *const u8, len: usize) -> i32;
        pub fn panic(ptr: *const u8, len: usize);
    }
}

/// Exports a function as the actor's entry.
#[macro_export]
macro_rules! actor {
    ($handle:path) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn taskq_v1_run() -> i32 {
            $crate::run($handle)
        }
    };
}

/// Runs one attempt and gives what the entry has to return.
pub fn run(handle: fn(&[u8]) -> Result<Vec<u8>, Failure>) -> i32 {
    report_panics();
    match handle(&input()) {
        Ok(result) => {
            unsafe { imports::output_write(result.as_ptr(), result.len()) };
            0
        }
        Err(failure) => {
            let record = failure.record();
            unsafe { imports::fail(record.as_ptr(), record.len()) };
            1
        }
    }
}

/// report_panics hands a panic's text to the host, which ends the attempt: this
/// target has no stderr where it would show otherwise.
fn report_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let what = info.payload();
            let message = what
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| what.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("a panic without text");
            let mut text = message.to_owned();
            if let Some(place) = info.location() {
                let _ = write!(text, " at {place}");
            }
            unsafe { imports::panic(text.as_ptr(), text.len()) };
        }));
    });
}

/// A failure record.
#[derive(Debug, Default)]
pub struct Failure {
    pub class: String,
    /// From specific to general.
    pub ancestors: Vec<String>,
    pub message: String,
    pub permanent: bool,
    pub retryable: bool,
    /// JSON; empty for none.
    pub details: String,
    /// Texts of what caused it, the nearest first.
    pub causes: Vec<String>,
}

impl Failure {
    /// A failure of a class of your own.
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Failure { class: class.to_owned(), message: message.into(), ..Default::default() }
    }

    /// Trying again can't help.
    pub fn permanent(self) -> Self {
        Failure { permanent: true, ..self }
    }

    /// Adds a more general name that rules may match.
    pub fn is_a(mut self, ancestor: &str) -> Self {
        self.ancestors.push(ancestor.to_owned());
        self
    }

    fn record(&self) -> String {
        let mut out = String::from("{\"class\":");
        quote(&mut out, &self.class);
        out.push_str(",\"message\":");
        quote(&mut out, &self.message);
        for (i, ancestor) in self.ancestors.iter().enumerate() {
            out.push_str(if i == 0 { ",\"ancestors\":[" } else { "," });
            quote(&mut out, ancestor);
        }
        if !self.ancestors.is_empty() {
            out.push(']');
        }
        if self.permanent {
            out.push_str(",\"permanent\":true");
        } else if self.retryable {
            out.push_str(",\"retryable\":true");
        }
        if !self.details.is_empty() {
            let _ = write!(out, ",\"details\":{}", self.details);
        }
        for cause in &self.causes {
            out.push_str(",\"cause\":{\"class\":\"Error\",\"message\":");
            quote(&mut out, cause);
        }
        out.push_str(&"}".repeat(self.causes.len() + 1));
        out
    }
}

/// An error's class is its type's name; the texts of its sources become the
/// causes, since Rust forgets their types.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut failure = Failure::new(std::any::type_name::<E>(), error.to_string());
        let mut source = error.source();
        while let Some(cause) = source.filter(|_| failure.causes.len() < 8) {
            failure.causes.push(cause.to_string());
            source = cause.source();
        }
        failure
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn read_all(read: unsafe extern "C" fn(*mut u8, usize) -> i32) -> Vec<u8> {
    let size = unsafe { read(std::ptr::null_mut(), 0) }.max(0) as usize;
    let mut bytes = vec![0; size];
    unsafe { read(bytes.as_mut_ptr(), size) };
    bytes
}

/// The payload.
pub fn input() -> Vec<u8> {
    read_all(imports::input_read)
}

/// The attempt's facts, JSON.
pub fn meta() -> String {
    String::from_utf8_lossy(&read_all(imports::meta_read)).into_owned()
}

/// A whole number of the attempt's facts; 0 where it's absent.
pub fn fact(name: &str) -> i64 {
    let meta = meta();
    let Some((_, value)) = meta.split_once(&format!("\"{name}\":")) else { return 0 };
    let end = value.find([',', '}']).unwrap_or(value.len());
    value[..end].trim().parse().unwrap_or(0)
}

/// Asks to be run again after d, which spends no attempt.
pub fn snooze(d: Duration) -> ! {
    unsafe { imports::snooze(d.as_millis() as i64) };
    unreachable!("the host obeys")
}

/// Asks for a retry after d.
pub fn retry_after(d: Duration, consume_budget: bool) -> ! {
    unsafe { imports::retry_after(d.as_millis() as i64, consume_budget as i32) };
    unreachable!("the host obeys")
}

/// Severity of a log line.
#[derive(Clone, Copy)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// One line of the log: text, or a JSON object for fields.
pub fn log(level: Level, text: &str) {
    unsafe { imports::log(level as i32, text.as_ptr(), text.len()) };
}

/// What the host wants of this attempt: 1 cancel asked, 2 draining, 4 deadline
/// near, 8 lease lost.
pub fn heartbeat() -> u32 {
    unsafe { imports::heartbeat() }
}

/// How far the attempt is: a JSON object of step, percent, detail, data.
pub fn progress(json: &str) -> i32 {
    unsafe { imports::progress(json.as_ptr(), json.len()) }
}
