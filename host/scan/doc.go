// Package scan reads an uploaded WebAssembly module before any engine does,
// and refuses what could hurt one.
//
// Engines trust the counts that a module claims: fifteen bytes are enough to
// make one reserve hundreds of gigabytes, which kills a Go process beyond any
// recover. So [Scan] decodes the whole binary in one pass by rules of its own:
//
//   - nothing is allocated because a count asks for it: a count larger than
//     the bytes that are left is refused, and every count has a limit;
//   - every index (types, functions, tables, memories, globals, elements,
//     data, locals, labels) is checked against the module's own counts, so a
//     rewriter may append to an index space without making a wrong index right;
//   - every instruction of every body is decoded, with the nesting of its
//     control structures, its alignment and its lanes.
//
// What is read is WebAssembly 2.0: sign extension, saturating conversions,
// multiple values, bulk memory, reference types and SIMD. Other proposals are
// refused, each by its name. The types of operands on the stack are left to
// the engine's own validation, which runs later, in a process that may die.
//
// The scan also notes where things are (sections, bodies, instructions), for
// the rewriter, and which of the module's habits make an instance impossible
// to restore ([Facts]).
package scan
