import { type Failure, badAnswer } from '../../errors.js'
import { backoff } from '../outcomes.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { wireLog } from '../../model/log-key.js'
import { applyEvent } from '../logs/log-events.js'
import { foldHead } from '../logs/fold-answers.js'
import { type Fold, needHead } from '../logs/log-fold.js'
import type { Logs } from '../logs/logs.js'
import { type Head, type SyncPage, syncPageOf } from '../logs/wire.js'
import type { ServerEvent, OpenedSession, Part } from '../part.js'
import type { LogKey, LogRecord } from '../../model/records.js'
import type { CachedReadsListener } from '../access.js'
import { Gaps } from './gaps.js'

/** A call of message.sync that has no answer yet. */
interface Request {
  /** Syncs that were due when it was sent. */
  readonly due: number
  readonly isRest: boolean
  readonly pos: string
  readonly cursor: string
  readonly named: ReadonlyMap<LogKey, readonly (() => void)[]>
  readonly window: number
  readonly stamp: number
}

/** Parts that Sync uses. */
export interface SyncOptions {
  readonly cachedReads: CachedReadsListener
  /** Returns a random time before a request that all readers of a log make after the same event. */
  spreadMs(key: LogKey): number
}

/** Logs that a call may name. */
const maxNamed = 100
/** The first page of a list is what a screen shows; the rest comes with one message for each log. */
const pages = {
  first: { limit: 50, window: 10 },
  rest: { limit: 200, window: 1 },
  delta: { limit: 200, window: 10 },
} as const
/** Logs whose heads wait. */
const maxWanted = 10_000
/** Time to collect logs whose heads are needed; a random one comes on top while answers do not help. */
const collectMs = 100
const collectBounds = [0, 2 * collectMs, 60_000] as const
/** Longer texts are no position. */
const maxPosLength = 128
const notReceived = 2
/** Groups without events are read again while they are on screen. */
const refreshMs = 10_000
/** Callers that show conversations, and conversations of one caller. */
const maxShown = 100

/**
 * Keeps the logs equal to the server's: decides when message.sync is called and when the position
 * may move. A sync is due from `sync.needed`, or from a session that is not current, until an
 * answer to a later call is in the batch. Until then positions of frames are ignored.
 */
export class Sync implements Part {
  readonly #context: CoreContext
  readonly #logs: Logs
  readonly #cachedReads: CachedReadsListener
  readonly #spreadMs: (key: LogKey) => number
  readonly #gaps: Gaps
  /** Syncs that were ever due, and those that are done. */
  #due = 0
  #done = 0
  #request: Request | undefined
  /** Logs whose heads are needed, with callbacks. */
  readonly #wanted = new Map<LogKey, (() => void)[]>()
  /** Answers in a row that failed, or did not help. */
  #failures = 0
  /** The next call begins the list anew. */
  #isListDue = false
  /** Logs that pages of the list have had. */
  #listed = new Set<LogKey>()
  readonly #onScreen = new Map<string, readonly LogKey[]>()

  constructor(context: CoreContext, logs: Logs, { cachedReads, spreadMs }: SyncOptions) {
    this.#context = context
    this.#logs = logs
    this.#cachedReads = cachedReads
    this.#spreadMs = spreadMs
    this.#gaps = new Gaps(context, logs, this)
  }

  /** True while the client does not have everything that it has missed. */
  get isSyncDue(): boolean {
    return this.#due !== this.#done
  }

  /** The logs that views show. */
  get onScreen(): ReadonlySet<LogKey> {
    return new Set([...this.#onScreen.values()].flat())
  }

  /** Requests the head of a log soon, as {@link LogAccess} says. */
  needHead(key: LogKey, done?: () => void): void {
    const callbacks = this.#wanted.get(key) ?? []
    // A flag in the record says the same, and is looked at again.
    if (!done && this.#wanted.size >= maxWanted) return
    if (done) callbacks.push(done)
    this.#wanted.set(key, callbacks)
    this.#collect()
  }

  /** A record says that the head of its log is needed. */
  headNeeded(key: LogKey, wait: Fold['wait']): void {
    const timer = `head ${key}`
    const isExpected = this.#wanted.has(key) || this.#context.isTimed(timer)
    if (wait === 'soon' || (wait === 'none' && !isExpected)) this.needHead(key)
    else if (!isExpected)
      this.#context.after(timer, this.#spreadMs(key), () => {
        if (this.#logs.get(key)?.isHeadNeeded) this.needHead(key)
      })
  }

  opened({ sync, pos }: OpenedSession): void {
    this.#failures = 0
    if (sync === 'current' && isPos(pos) && this.#context.batch.meta.pos !== '') {
      this.#done = this.#due
      this.#context.batch.setMeta({ pos })
    } else this.#due++
    this.#context.setSynced(!this.isSyncDue)
    this.#run()
  }

  closed(): void {
    this.#gaps.clear()
    this.#context.cancel('sync')
    this.#abandon()
  }

  reset(): void {
    this.#gaps.clear()
    this.#listed.clear()
    for (const [key, callbacks] of this.#wanted)
      if (callbacks.length === 0) this.#wanted.delete(key)
  }

  event(frame: ServerEvent): void {
    if (frame.event === 'sync.needed') {
      this.#require()
      return
    }
    const result = applyEvent(this.#logs, frame, this.#context.me)
    if (result.type === 'gap') this.#gaps.add(result.key, result.change)
    // A callback says that the answer to a call in flight is not enough.
    else if (result.type === 'unknownLog' || (result.type === 'noLog' && this.#isIncomplete))
      this.needHead(result.key, () => undefined)
    // Nothing stored says that the log is missing, so the position must not pass the event.
    if (result.type === 'unknownLog' || result.type === 'nonsense') this.#require()
  }

  pos(pos: string): void {
    const { meta } = this.#context.batch
    if (this.isSyncDue || meta.listCursor !== '' || !isPos(pos) || pos === meta.pos) return
    this.#context.batch.setMeta({ pos })
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'onScreen') return false
    const before = this.onScreen
    this.#onScreen.delete(command.caller)
    if (command.logs.length > 0) this.#onScreen.set(command.caller, command.logs.slice(0, maxShown))
    const [oldest] = this.#onScreen.keys()
    if (this.#onScreen.size > maxShown && oldest !== undefined) this.#onScreen.delete(oldest)
    this.#refresh(command.logs.filter((key) => !before.has(key)))
    this.#context.emit({ type: 'result', id, value: undefined })
    return true
  }

  /** Reads groups on screen whose messages are not sent as events, now and again. */
  #refresh(keys: Iterable<LogKey>): void {
    for (const key of keys) if (this.#logs.get(key)?.muteMode === notReceived) this.needHead(key)
    if (this.#onScreen.size === 0) this.#context.cancel('onScreen')
    else this.#context.after('onScreen', refreshMs, () => this.#refresh(this.onScreen))
  }

  #require(): void {
    this.#due++
    this.#context.setSynced(false)
    this.#run()
  }

  /** An answer in flight may contain logs that the client does not have. */
  get #isIncomplete(): boolean {
    return this.isSyncDue || !!this.#request || this.#context.batch.meta.listCursor !== ''
  }

  /** Calls soon, so that several logs share one call. */
  #collect(): void {
    if (this.#request || !this.#context.isOpen) return
    const failures = this.#failures
    const waitMs = failures && backoff(failures, this.#context.random, collectBounds)
    this.#context.after('sync', collectMs + waitMs, () => this.#run())
  }

  #run(): void {
    const { batch, isOpen } = this.#context
    if (this.#request || !isOpen) return
    const { pos, listCursor } = batch.meta
    const isRest = !this.isSyncDue && listCursor !== ''
    const names = [...this.#wanted.keys()].filter((key) => !this.#gaps.has(key)).slice(0, maxNamed)
    if (!this.isSyncDue && !isRest && names.length === 0) return
    this.#context.cancel('sync')
    const isList = pos === '' || this.#isListDue
    const page = isRest ? pages.rest : isList ? pages.first : pages.delta
    const request: Request = {
      due: this.#due,
      isRest,
      pos,
      cursor: isRest ? listCursor : '',
      named: new Map(names.map((key) => [key, this.#wanted.get(key) ?? []])),
      window: page.window,
      stamp: this.#logs.stamp(),
    }
    for (const key of names) this.#wanted.delete(key)
    this.#request = request
    const have = names.map((key) => ({
      log: wireLog(key),
      change: this.#logs.get(key)?.change ?? 0,
    }))
    const data = {
      after: pos,
      ...(isRest ? { list: true, cursor: listCursor } : this.#isListDue && { list: true }),
      ...(have.length > 0 && { have }),
      ...page,
    }
    this.#context.call('message.sync', data, (outcome) => {
      if (this.#request === request) this.#answered(request, outcome)
    })
  }

  #answered(request: Request, outcome: CallOutcome): void {
    if (outcome.type === 'lost') {
      this.#abandon()
      return
    }
    const page = outcome.type === 'answer' ? syncPageOf(outcome.answer.data) : undefined
    if (!page) {
      this.#failed(outcome.type === 'failure' ? outcome.failure : badAnswer('message.sync'))
      return
    }
    if (page.isReset || page.epoch !== this.#context.batch.meta.epoch) {
      this.#abandon()
      this.#context.reset()
      this.#context.batch.setMeta({ epoch: page.epoch, pos: '', listCursor: '' })
      this.#due++
      // A server that resets a client without a position would do it for ever.
      if (request.pos !== '') this.#run()
      else this.#retry()
      return
    }
    this.#request = undefined
    this.#take(page, request)
    if (isStuck(page, request)) this.#retry()
    else if (this.isSyncDue || this.#context.batch.meta.listCursor !== '') this.#run()
    else if (this.#wanted.size > 0) this.#collect()
  }

  #take(page: SyncPage, request: Request): void {
    const { batch } = this.#context
    const open = new Map(request.named)
    let isHelped = !isStuck(page, request) && (request.named.size === 0 || request.pos === '')
    for (const head of page.heads) {
      const isTaken = this.#takeHead(head, page, request)
      isHelped ||= isTaken && request.named.has(head.key)
      if (isTaken) {
        for (const done of take(open, head.key)) done()
        const callbacks = this.#wanted.get(head.key) ?? []
        // An event since the call says that it is not enough. The flag is stored with the position.
        if (callbacks.length > 0) this.#logs.fold(head.key, needHead)
        else if (this.#logs.get(head.key)?.isHeadNeeded !== true) this.#wanted.delete(head.key)
      }
    }
    for (const key of page.gone) {
      this.#logs.drop(key)
      isHelped = true
      for (const done of take(open, key)) done()
    }
    // Logs that the answer did not settle are requested again.
    this.#wantAgain(open)
    for (const { kind, ref } of page.user) this.#cachedReads.changed(kind, ref)
    if (page.pos !== undefined) batch.setMeta({ pos: page.pos })
    if (page.isList) this.#takeListEnd(page, request)
    if (!request.isRest && !page.hasMore) this.#done = request.due
    this.#failures = isHelped ? 0 : this.#failures + 1
    if (!this.isSyncDue)
      this.#context.afterCommit(() => {
        if (this.#context.isOpen && !this.isSyncDue) this.#context.setSynced(true)
      })
  }

  #takeHead(head: Head, { isList }: SyncPage, { named, stamp, window }: Request): boolean {
    const { key } = head
    const knownVersion = this.#logs.get(key)?.version ?? 0
    const result = this.#logs.fold(key, (fold, reader) =>
      foldHead(fold, head, {
        ...reader,
        moved: this.#logs.movedSince(key, stamp),
        asked: named.has(key) ? 'named' : isList ? 'list' : 'delta',
        window,
      }),
    )
    // Later changes may have altered the originals.
    if (this.#logs.get(key)?.change === head.change) this.#logs.quotes.take(key, head.quotes)
    const { version } = head.state
    if (version !== undefined && version > knownVersion)
      this.#cachedReads.groupVersion(this.#logs.get(key)?.conversationId ?? 0, version)
    if (isList) this.#listed.add(key)
    if (result === 'missing') this.#gaps.add(key, head.change, true)
    // The flag stands for the gap in the store until the gap is filled.
    else if (this.#gaps.isMissing(key)) this.#logs.fold(key, needHead)
    return result === 'taken'
  }

  #takeListEnd(page: SyncPage, request: Request): void {
    if (!request.isRest) {
      // Answers that were read before the first position may have changed before it, and the rest of
      // a list before this one may have had more of them.
      if (request.pos === '' || this.#context.batch.meta.listCursor !== '')
        this.#cachedReads.allChanged()
      this.#isListDue = false
      this.#listed = new Set(page.heads.map(({ key }) => key))
    }
    this.#context.batch.setMeta({ listCursor: page.cursor })
    if (page.cursor !== '') return
    // A group without events may have moved above the pages; a sync from the first of them has it.
    if (request.isRest) this.#due++
    // The list has all logs of the user; those that it does not have may be gone. The flag is
    // stored with the position, so that they are requested after a restart too.
    const isMissing = ({ key }: LogRecord) => !this.#listed.has(key)
    for (const { key } of [...this.#logs.records()].filter(isMissing))
      this.#logs.fold(key, needHead)
    this.#listed.clear()
  }

  #failed(failure: Failure): void {
    const { batch } = this.#context
    const isRest = this.#request?.isRest === true
    this.#abandon()
    if (failure.name === 'invalid_parameter') {
      // The server does not take the cursor, or the position.
      if (isRest) this.#isListDue = true
      else batch.setMeta({ pos: '' })
      batch.setMeta({ listCursor: '' })
      this.#due++
    }
    this.#retry(failure.retryAfterMs)
  }

  #retry(afterMs = 0): void {
    const ms = Math.max(afterMs, backoff(this.#failures++, this.#context.random))
    this.#context.after('sync', ms, () => this.#run())
  }

  /** Logs that the call has named are needed still. */
  #abandon(): void {
    const { named } = this.#request ?? {}
    this.#request = undefined
    if (named) this.#wantAgain(named)
  }

  #wantAgain(named: Request['named']): void {
    for (const [key, callbacks] of named)
      this.#wanted.set(key, [...callbacks, ...(this.#wanted.get(key) ?? [])])
  }
}

function take(open: Map<LogKey, readonly (() => void)[]>, key: LogKey): readonly (() => void)[] {
  const callbacks = open.get(key) ?? []
  open.delete(key)
  return callbacks
}

/** Tests for a page that says where to continue, and has not moved. */
function isStuck({ hasMore, isList, ...page }: SyncPage, { pos, cursor }: Request): boolean {
  return (
    (hasMore && (page.pos ?? pos) === pos) || (isList && cursor !== '' && page.cursor === cursor)
  )
}

function isPos(pos: unknown): pos is string {
  return typeof pos === 'string' && pos !== '' && pos.length <= maxPosLength
}
