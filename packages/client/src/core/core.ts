import type { Effect } from './effects.js'
import type { Input } from './inputs.js'

/** The client of one user as a deterministic state machine; the README of this folder shows its parts. */
export interface CoreMachine {
  /** Takes an input and returns what has to be done, in this order. */
  step(input: Input): readonly Effect[]
}
