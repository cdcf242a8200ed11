import { AppError } from '@hermod/protocol'

const transientErrors: ReadonlySet<string> = new Set(['storage_failed', 'unavailable'])

/** Does work that a later call repeats, so that its failure may be ignored. */
export async function ignoreTransientErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof AppError && transientErrors.has(error.errorName))) throw error
  }
}
