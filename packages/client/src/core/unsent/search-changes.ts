import { type Failure, badAnswer } from '../../errors.js'
import type { CoreContext } from '../core-context.js'
import { wireLog } from '../../model/log-key.js'
import { changesPageOf } from '../logs/wire.js'
import { isRepeated } from '../outcomes.js'
import type { LogKey } from '../../model/records.js'

/** Pages of 100 changes that are read before the search gives up. */
const maxPages = 1_000

interface Search {
  readonly log: LogKey
  readonly transactionId: number
  readonly afterChange: number
  /** False: the result does not matter any more. */
  readonly isWanted: () => boolean
  /**
   * The ID of the message; `missing`: the changes do not have it, or are not kept; else the search
   * did not end.
   */
  readonly done: (result: number | 'missing' | Failure | undefined) => void
}

/** Looks for an own message in the changes of a log after a number. */
export function searchChanges(context: Pick<CoreContext, 'call'>, search: Search, pages = 1): void {
  const { log, transactionId, afterChange, isWanted, done } = search
  const data = { log: wireLog(log), after_change: afterChange, limit: 100 }
  context.call('message.changes', data, (outcome) => {
    if (!isWanted()) return
    if (outcome.type === 'lost') return done(undefined)
    if (outcome.type === 'failure') {
      const { failure } = outcome
      return done(isRepeated(failure) ? failure : 'missing')
    }
    const page = changesPageOf(log, outcome.answer.data)
    if (!page) return done(badAnswer('message.changes'))
    const { from, changes, next, change } = page
    for (const each of changes)
      if ('message' in each && each.message.transactionId === transactionId)
        return done(each.message.msgId)
    if (from === undefined || !(next > afterChange) || next >= change || pages >= maxPages)
      done('missing')
    else searchChanges(context, { ...search, afterChange: next }, pages + 1)
  })
}
