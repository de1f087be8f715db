// Deaths in AssemblyScript, as a WASI command with its wasi-shim: stdin names
// the one.

const held = new Array<ArrayBuffer>();
const word = readWord();
if (word == "throw") throw new Error("boom: " + word);
if (word == "assert") assert(word == "other", "it isn't");
if (word == "unreachable") unreachable();
if (word == "out-of-bounds") element([1, 2, 3], 7);
if (word == "null") text(null);
if (word == "exit") process.exit(3);
if (word == "stack-overflow") deeper(1);
if (word == "memory-bomb") for (;;) held.push(new ArrayBuffer(1 << 20));
process.stdout.write("\"" + word + "\"\n");

function readWord(): string {
  const buffer = new ArrayBuffer(64);
  const n = process.stdin.read(buffer);
  return String.UTF8.decode(buffer.slice(0, <i32>n));
}

function element(list: i32[], i: i32): i32 { return list[i]; }

function text(nothing: string | null): i32 { return nothing!.length; }

function deeper(n: i32): i32 { return n == 0 ? 0 : 1 + deeper(n + 1); }

