/** Settings of the garbage collector. See docs/decisions/036-garbage-collection.md. */
import { setFlagsFromString } from 'node:v8'

const flags = [
  // When most objects of a statement survive, as those of a long answer do, the engine allocates
  // all later ones in the old generation, with the objects that they point to. Requests are short,
  // so these soon become garbage.
  '--no-allocation-site-pretenuring',
  // A full collection runs when memory is three times what the last one left. The default rule
  // takes up to 3 % of the time when memory grows slowly, which means every few seconds, and calls
  // wait for each.
  '--heap-growing-percent=200',
]

/** Applies to this process and all of its threads. Call it first in `serve`. */
export function tuneGarbageCollection(): void {
  for (const flag of flags) setFlagsFromString(flag)
}
