import { type ErrorName, errorCatalogue } from '@hermod/protocol'

/** A failure of a call. */
export class Refusal extends Error {
  constructor(readonly error: ErrorName) {
    super(errorCatalogue[error].text)
  }
}
