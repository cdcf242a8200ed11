import type { ErrorName } from '@hermod/protocol'

/** A failure of a call. It is no Error, whose stack trace costs more than the call. */
export class Refusal {
  constructor(readonly error: ErrorName) {}
}
