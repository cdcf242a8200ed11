import { failureOf } from '../../errors.js'
import type { CoreContext } from '../core-context.js'
import type { Failure } from '../inputs.js'
import { isRepeated } from '../outcomes.js'

/** Pages of 100 changes that are read before the search gives up. */
const maxPages = 1_000

interface ChangePage {
  readonly from?: number
  readonly changes: readonly {
    readonly data: { readonly msg_id?: number; readonly transaction_id?: string }
  }[]
  readonly next: number
  readonly change: number
}

interface Search {
  readonly log: object
  readonly transactionId: number
  readonly afterChange: number
  /** False: the result does not matter any more. */
  readonly isWanted: () => boolean
  /** The ID of the message; `missing`: the changes do not have it, or are not kept; else the search did not end. */
  readonly done: (result: number | 'missing' | Failure | undefined) => void
}

/** Looks for an own message in the changes of a log after a number. */
export function searchChanges(context: Pick<CoreContext, 'call'>, search: Search, page = 1): void {
  const { log, transactionId, afterChange, isWanted, done } = search
  const data = { log, after_change: afterChange, limit: 100 }
  context.call('message.changes', data, (outcome) => {
    if (!isWanted()) return
    if (outcome.type === 'lost') return done(undefined)
    if (outcome.type === 'failure') {
      const { failure } = outcome
      return done(isRepeated(failure) ? failure : 'missing')
    }
    const { from, changes, next, change } = outcome.answer.data as ChangePage
    if (!Array.isArray(changes)) return done(failureOf('bad_answer', 'no list of changes', true))
    const found = changes.find((each) => each?.data?.transaction_id === String(transactionId))
    if (found?.data.msg_id) done(found.data.msg_id)
    else if (from === undefined || !(next > afterChange) || next >= change || page >= maxPages)
      done('missing')
    else searchChanges(context, { ...search, afterChange: next }, page + 1)
  })
}
