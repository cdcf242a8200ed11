import type { CoreContext } from '../core-context.js'
import { wireLog } from '../../model/log-key.js'
import { foldChangesPage } from '../logs/fold-answers.js'
import type { Logs } from '../logs/logs.js'
import { changesPageOf } from '../logs/wire.js'
import { backoff, callUntilAnswered } from '../outcomes.js'
import type { LogKey } from '../../model/records.js'

/** The part of Sync that Gaps uses. */
export interface GapsHost {
  /** True while a sync is due, which brings what is missing. */
  readonly isSyncDue: boolean
  /** Called when the gap of a log is filled, or the log's head has to say what is there. */
  needHead(key: LogKey): void
}

interface MissingChanges {
  /** Up to which change the log has to get. */
  change: number
  /** Answers in a row that have not helped. */
  failures: number
}

/** The first wait, and the random time on top of it. */
const waitMs = 300
const pageLength = 100

/** Changes that are missing in logs; requested once per log. */
export class Gaps {
  readonly #context: CoreContext
  readonly #logs: Logs
  readonly #host: GapsHost
  readonly #targets = new Map<LogKey, MissingChanges>()

  constructor(context: CoreContext, logs: Logs, host: GapsHost) {
    this.#context = context
    this.#logs = logs
    this.#host = host
  }

  has(key: LogKey): boolean {
    return this.#targets.has(key)
  }

  /** Tests whether changes are missing that the log has not got since. */
  isMissing(key: LogKey): boolean {
    return (this.#targets.get(key)?.change ?? 0) > (this.#logs.get(key)?.change ?? 0)
  }

  /** @param isUrgent the server has said so; else the missing changes may be on their way */
  add(key: LogKey, change: number, isUrgent = false): void {
    const target = this.#targets.get(key)
    if (target) {
      target.change = Math.max(change, target.change)
      return
    }
    this.#targets.set(key, { change, failures: 0 })
    this.#wait(key, isUrgent ? 0 : waitMs * (1 + this.#context.random()))
  }

  /** The session has ended, or everything was dropped. The flags in the records remain. */
  clear(): void {
    for (const key of this.#targets.keys()) this.#context.cancel(timerOf(key))
    this.#targets.clear()
  }

  #wait(key: LogKey, ms: number): void {
    this.#context.after(timerOf(key), ms, () => this.#ask(key))
  }

  #waitAgain(key: LogKey, target: MissingChanges): void {
    this.#wait(key, backoff(target.failures++, this.#context.random))
  }

  #ask(key: LogKey): void {
    const record = this.#logs.get(key)
    const target = this.#targets.get(key)
    if (target === undefined) return
    if (!record || record.change >= target.change) this.#settle(key)
    else if (this.#host.isSyncDue) this.#wait(key, waitMs)
    else {
      const after = record.change
      const asked = target.change
      const data = { log: wireLog(key), after_change: after, limit: pageLength }
      callUntilAnswered(this.#context, 'message.changes', data, (answer) => {
        // Everything was dropped.
        if (!this.#targets.has(key)) return
        const page = answer && changesPageOf(key, answer.data)
        if (!page) {
          if (answer) this.#waitAgain(key, target)
          else this.#settle(key)
          return
        }
        this.#logs.fold(
          key,
          (fold, reader) => foldChangesPage(fold, page, { after, ...reader }),
          'changes',
        )
        const change = this.#logs.get(key)?.change ?? 0
        // Later changes may have altered the originals.
        if (change === page.next) this.#logs.quotes.take(key, page.quotes)
        // An event since the call: the answer may be from before it.
        if (change < target.change && target.change > asked) this.#wait(key, waitMs)
        else if (change >= page.change || page.from === undefined) this.#settle(key)
        else if (change <= after) this.#waitAgain(key, target)
        else {
          target.failures = 0
          this.#wait(key, 0)
        }
      })
    }
  }

  #settle(key: LogKey): void {
    this.#targets.delete(key)
    this.#host.needHead(key)
  }
}

function timerOf(key: LogKey): string {
  return `gap ${key}`
}
