/** Settings of the garbage collector. See docs/decisions/036-garbage-collection.md. */
import { setFlagsFromString } from 'node:v8'

const flags = [
  // An engine that has seen most objects of a statement survive, as those of a long answer do, makes all later ones of it where only full
  // collections look, with what they point to. Requests are short, so that this is garbage soon.
  '--no-allocation-site-pretenuring',
  // A full collection comes when there is three times what the last one has left. The engine's own rule lets them take 3 % of the time
  // where memory is used slowly, which is every few seconds, and calls wait behind each.
  '--heap-growing-percent=200',
]

/** Applies to this process and all of its threads. Call it first in `serve`. */
export function tuneGarbageCollection(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
