// An actor in AssemblyScript: the payload's case chooses how the attempt ends.
import { JSON } from "json-as";
import * as taskq from "../../sdk-guest/assemblyscript/assembly";

@json
class Input {
  @alias("case") kind: string = "";
  name: string = "world";
}

@json
class Output {
  greeting: string = "";
}

export function taskq_v1_run(): i32 {
  const input = JSON.parse<Input>(taskq.input());
  taskq.log(taskq.Level.Info, "begins with case " + input.kind);
  if (input.kind == "typed-error") return taskq.fail("shop.SoldOut", "none left", ["shop.Error"]);
  if (input.kind == "permanent") return taskq.fail("shop.Closed", "for good", ["shop.Error"], true);
  if (input.kind == "fails-twice" && taskq.fact("attempt") < 3) return taskq.fail("shop.Busy", "not this time", ["shop.Error"]);
  if (input.kind == "snooze-twice" && taskq.fact("snooze_count") < 2) taskq.snooze(100);
  if (input.kind == "panic") throw new Error("boom: " + input.name);
  if (input.kind == "out-of-bounds") return element([1, 2, 3], 7);
  if (input.kind == "endless-loop") for (;;) turns++;
  if (input.kind == "recursion") return fib(200);
  if (input.kind == "stack-overflow") return deeper(1);
  if (input.kind == "memory-bomb") for (;;) held.push(new ArrayBuffer(1 << 20));
  const out = new Output();
  out.greeting = "hello, " + input.name;
  return taskq.succeed(JSON.stringify(out));
}

let turns: u64 = 0;
const held = new Array<ArrayBuffer>();

function element(list: i32[], i: i32): i32 { return list[i]; }

// fib calls itself and never loops.
function fib(n: i32): i32 { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// deeper uses up the engine's stack: AssemblyScript keeps none in memory.
function deeper(n: i32): i32 { return n == 0 ? 0 : 1 + deeper(n + 1); }
