// Guest ABI of taskq-host, version 1, for AssemblyScript. It knows strings and
// bytes; which JSON library decodes them is the actor's choice.
//
//   import * as taskq from "taskq-host-assemblyscript/assembly";
//
//   export function taskq_v1_run(): i32 {
//     return taskq.succeed(taskq.input());
//   }
//
// `throw` ends the attempt through env.abort: a GuestPanic with its message
// and place. A failure with a class of its own is reported by fail.

@external("taskq_v1", "input_read") declare function input_read(ptr: usize, cap: usize): i32;
@external("taskq_v1", "meta_read") declare function meta_read(ptr: usize, cap: usize): i32;
@external("taskq_v1", "output_write") declare function output_write(ptr: usize, len: usize): i32;
@external("taskq_v1", "fail") declare function fail_record(ptr: usize, len: usize): i32;
@external("taskq_v1", "snooze") declare function snooze_ms(ms: i64): i32;
@external("taskq_v1", "retry_after") declare function retry_after_ms(ms: i64, consume: i32): i32;
@external("taskq_v1", "log") declare function log_line(level: i32, ptr: usize, len: usize): void;
@external("taskq_v1", "heartbeat") declare function heartbeat_bits(): u32;
@external("taskq_v1", "progress") declare function progress_record(ptr: usize, len: usize): i32;

/** What an import returns when it could not do its work. */
export const enum Code { NotFound = -1, Denied = -2, TooLarge = -3, Invalid = -4, Limit = -5, Canceled = -6 }

export const enum Level { Trace, Debug, Info, Warn, Error }

/** Bits of heartbeat. */
export const enum Beat { CancelAsked = 1, Draining = 2, DeadlineNear = 4, LeaseLost = 8 }

/** The payload's bytes. */
export function inputBytes(): ArrayBuffer {
  const buffer = new ArrayBuffer(input_read(0, 0));
  input_read(changetype<usize>(buffer), buffer.byteLength);
  return buffer;
}

/** The payload as text. */
export function input(): string { return String.UTF8.decode(inputBytes()); }

/** The attempt's facts, JSON. */
export function meta(): string {
  const size = meta_read(0, 0);
  if (size < 0) return "{}";
  const buffer = new ArrayBuffer(size);
  meta_read(changetype<usize>(buffer), size);
  return String.UTF8.decode(buffer);
}

/** A whole number of the attempt's facts; 0 where it's absent. */
export function fact(name: string): i64 {
  const facts = meta();
  const key = "\"" + name + "\":";
  const at = facts.indexOf(key);
  return at < 0 ? 0 : I64.parseInt(facts.substring(at + key.length, at + key.length + 20));
}

/** Appends text to the result. */
export function output(text: string): void {
  const bytes = String.UTF8.encode(text);
  output_write(changetype<usize>(bytes), bytes.byteLength);
}

/** Pushes the result and gives what the entry has to return. */
export function succeed(json: string): i32 {
  output(json);
  return 0;
}

/** A string as JSON. */
export function quote(text: string): string {
  let out = "\"";
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 0x22 || c == 0x5c) out += "\\" + text.charAt(i);
    else if (c < 0x20) out += "\\u00" + (c < 16 ? "0" : "1") + (c & 15).toString(16);
    else out += text.charAt(i);
  }
  return out + "\"";
}

/** Records a failure and gives what the entry has to return. Ancestors go from specific to general. */
export function fail(class_: string, message: string, ancestors: string[] = [], permanent: bool = false): i32 {
  let record = "{\"class\":" + quote(class_) + ",\"message\":" + quote(message);
  if (ancestors.length > 0) record += ",\"ancestors\":[" + ancestors.map<string>((a: string) => quote(a)).join(",") + "]";
  if (permanent) record += ",\"permanent\":true";
  const bytes = String.UTF8.encode(record + "}");
  fail_record(changetype<usize>(bytes), bytes.byteLength);
  return 1;
}

/** Asks to be run again after ms, which spends no attempt. Doesn't return. */
export function snooze(ms: i64): void { snooze_ms(ms); }

/** Asks for a retry after ms. Doesn't return. */
export function retryAfter(ms: i64, consumeBudget: bool = true): void { retry_after_ms(ms, consumeBudget); }

/** One line of the log: text, or a JSON object for fields. */
export function log(level: Level, text: string): void {
  const bytes = String.UTF8.encode(text);
  log_line(level, changetype<usize>(bytes), bytes.byteLength);
}

/** What the host wants of this attempt, as bits of Beat. */
export function heartbeat(): u32 { return heartbeat_bits(); }

/** How far the attempt is: a JSON object of step, percent, detail, data. */
export function progress(json: string): i32 {
  const bytes = String.UTF8.encode(json);
  return progress_record(changetype<usize>(bytes), bytes.byteLength);
}
