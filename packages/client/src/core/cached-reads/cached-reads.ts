import { type Failure, badAnswer, failureOf, notConnected } from '../../errors.js'
import type { CachedRead } from '../../model/records.js'
import type { CachedReadsListener } from '../access.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import type { Answer, Command } from '../inputs.js'
import { idsOf, listOf, type Members, membersOf } from '../logs/wire.js'
import { isRepeated, spreadMs, waitMsOf } from '../outcomes.js'
import type { Part, ServerEvent } from '../part.js'
import { groupAfter, isSharedEvent, membersAfter, stepOf } from './group-changes.js'
import { parseKey, type ReadKind } from './kinds.js'
import { keysOfChange, keysOfEvent, keysOfOwnChange } from './stale.js'

const maxReads = 4
/** Refs that one call reads. */
const maxBatch = 500
/** Pages of one list. */
const maxPages = 200
const maxWatched = 20_000
/** Keys that are watched within this time share a call. */
const collectMs = 10
/** Events within this time cause one read. */
const rereadMs = 100

/** Members of a group that was not read. */
const supposedMembers = 1_000

/** Refusals that say that the object does not exist for this user. */
const isEmpty = ({ name }: Failure) =>
  /^(.*_not_found|user_deleted|no_permission|.*_required|not_group_member)$/.test(name)

/** One read, of one key or of a batch. */
interface RunningRead {
  readonly kind: ReadKind
  /** Refs by key. */
  readonly refs: ReadonlyMap<string, number>
  readonly entries: unknown[]
  pages: number
}

/**
 * Answers of operations about the user that are kept, and read again when they are stale and
 * watched. A change that comes during a read makes the answer stale again. Events of groups are
 * applied; a group is read again when one is missing, or comes during a read.
 */
export class CachedReads implements Part, CachedReadsListener {
  readonly #context: CoreContext
  readonly #records = new Map<string, CachedRead>()
  readonly #watched = new Map<string, ReadonlySet<string>>()
  readonly #queue = new Set<string>()
  /** Keys that are being read; true: stale again. */
  readonly #reading = new Map<string, boolean>()
  /** Keys of reads that failed for good; another change or session tries again. */
  readonly #failed = new Set<string>()
  /** Users that were read since the start; changes of strangers and their names send no event. */
  readonly #freshUsers = new Set<string>()
  #reads = 0
  #failures = 0
  #nextReadAt = Infinity

  constructor(context: CoreContext) {
    this.#context = context
  }

  start({ cached }: { readonly cached: readonly CachedRead[] }): void {
    for (const record of cached) if (parseKey(record.key)) this.#records.set(record.key, record)
  }

  opened(): void {
    this.#failed.clear()
    this.#failures = 0
    this.#offerAll()
  }

  reset(): void {
    for (const key of this.#records.keys()) this.#context.cancel(timerOf(key))
    this.#records.clear()
    this.#freshUsers.clear()
    for (const key of this.#reading.keys()) this.#reading.set(key, true)
    this.#offerAll()
  }

  /** @returns false: the command belongs to another part */
  command(id: string, command: Command): boolean {
    if (command.type !== 'watch') return false
    const { caller, keys } = command
    const wrong = keys.find((key, index) => !parseKey(key) || index >= maxWatched)
    if (wrong !== undefined) {
      const failure = failureOf('invalid_argument', `${wrong} cannot be read, or is one too many`)
      this.#context.emit({ type: 'failure', id, failure })
    } else {
      if (keys.length > 0) this.#watched.set(caller, new Set(keys))
      else this.#watched.delete(caller)
      for (const key of keys) this.#offer(key)
      this.#context.emit({ type: 'result', id, value: null })
    }
    return true
  }

  event(frame: ServerEvent): void {
    const { me } = this.#context
    const { group_id: groupId } = membersOf(frame.data)
    if (!isSharedEvent(frame)) {
      for (const key of keysOfEvent(frame, me)) this.#stale(key)
      return
    }
    const own = keysOfOwnChange(frame, me)
    for (const key of own) this.#stale(key)
    // The version of the group moves last: the others are compared with it.
    const keys = [`joinRequests.${groupId}`, `members.${groupId}`, `group.${groupId}`]
    for (const key of frame.event === 'group.destroyed' ? ['groups', ...keys] : keys)
      if (!own.includes(key)) this.#take(key, frame)
  }

  changed(kind: number, ref: number): void {
    for (const key of keysOfChange(kind, ref, this.#context.me)) this.#stale(key)
  }

  allChanged(): void {
    for (const key of [...this.#records.keys(), ...this.#reading.keys()]) this.#stale(key)
  }

  groupVersion(groupId: number, version: number): void {
    // The members may be older than the answer about the group.
    this.#stale(`members.${groupId}`, groupId)
    const { version: read = -1 } = this.#group(groupId)
    if (version > read) this.#stale(`group.${groupId}`, groupId)
  }

  memberCount(groupId: number): number {
    return this.#group(groupId).count ?? supposedMembers
  }

  #group(groupId: number): { readonly version: number; readonly count?: number } {
    return Object(this.#records.get(`group.${groupId}`)?.value)
  }

  /** Applies an event of a group to an answer about the group. */
  #take(key: string, frame: ServerEvent): void {
    if (this.#reading.has(key)) this.#reading.set(key, true)
    const record = this.#records.get(key)
    if (!record || record.isStale) return
    const groupId = membersOf(frame.data).group_id as number
    const step = stepOf(this.#group(groupId), frame)
    const value = step === 'gap' ? undefined : this.#after(record, frame, step)
    if (value === undefined) this.#stale(key, groupId)
    else if (value !== record.value) this.#put({ ...record, value })
  }

  /** @returns the value after an event; undefined: it has to be read */
  #after({ key, value }: CachedRead, frame: ServerEvent, step: 'known' | 'next'): unknown {
    if (key.startsWith('group.')) return step === 'known' ? value : groupAfter(Object(value), frame)
    const list = listOf(value)
    const { group_id: groupId, user_ids: userIds } = membersOf(frame.data)
    if (key === 'groups') return list.filter((id) => id !== groupId)
    if (frame.event === 'group.destroyed') return []
    if (key.startsWith('members.'))
      return membersAfter(list as readonly Members[], frame, this.#context.me)
    // Requests of users who are members now, or were removed, are answered.
    const named = idsOf(userIds)
    const isAnswered = list.some((each) => named.includes(membersOf(each).applicant_id as number))
    return isAnswered ? undefined : value
  }

  /** @param groupId a group whose members all have the same reason; absent: read soon */
  #stale(key: string, groupId?: number): void {
    this.#failed.delete(key)
    if (this.#reading.has(key)) this.#reading.set(key, true)
    const record = this.#records.get(key)
    if (record && !record.isStale) this.#put({ ...record, isStale: true })
    const timer = timerOf(key)
    if (groupId === undefined || !record || !this.#isWatched(key)) this.#context.cancel(timer)
    // The first reason counts: each event after a missing one finds the same gap.
    else if (!this.#context.isTimed(timer)) {
      const waitMs = spreadMs(this.#context, this.memberCount(groupId))
      this.#context.after(timer, waitMs, () => this.#offer(key))
    }
    this.#offer(key)
  }

  #offerAll(): void {
    for (const keys of this.#watched.values()) for (const key of keys) this.#offer(key)
  }

  /** Queues a key that is watched and not known. */
  #offer(key: string): void {
    const record = this.#records.get(key)
    const isKnown = record && !record.isStale && !this.#isOldUser(key)
    const isBusy =
      this.#failed.has(key) || this.#reading.has(key) || this.#context.isTimed(timerOf(key))
    if (isKnown || isBusy || !this.#isWatched(key)) return
    this.#queue.add(key)
    // After a failure the queue waits for the next try, if there is one: its keys may have been read
    // or have to wait when the time came.
    const isTrying = this.#failures > 0 && (this.#nextReadAt < Infinity || this.#reads > 0)
    if (this.#context.isOpen && !isTrying) this.#readSoon(record ? rereadMs : collectMs)
  }

  #isOldUser(key: string): boolean {
    return key.startsWith('user.') && !this.#freshUsers.has(key)
  }

  #isWatched(key: string): boolean {
    for (const keys of this.#watched.values()) if (keys.has(key)) return true
    return false
  }

  #readSoon(ms: number): void {
    const readAt = this.#context.now + ms
    if (readAt >= this.#nextReadAt) return
    this.#nextReadAt = readAt
    this.#context.after('cachedReads', ms, () => {
      this.#nextReadAt = Infinity
      this.#readNext()
    })
  }

  #readNext(): void {
    for (const key of this.#queue) {
      if (!this.#context.isOpen || this.#reads >= maxReads) return
      this.#queue.delete(key)
      const parsed = parseKey(key)
      if (!parsed || !this.#isWatched(key)) continue
      const { name, kind, ref } = parsed
      const refs = new Map([[key, ref]])
      if (kind.batch)
        for (const other of this.#queue) {
          if (refs.size >= maxBatch) break
          const each = parseKey(other)
          if (each?.name !== name) continue
          this.#queue.delete(other)
          if (this.#isWatched(other)) refs.set(other, each.ref)
        }
      for (const each of refs.keys()) this.#reading.set(each, false)
      this.#reads++
      this.#page({ kind, refs, entries: [], pages: 0 }, '')
    }
  }

  #page(read: RunningRead, cursor: string): void {
    const { kind, entries } = read
    const refs = [...read.refs.values()]
    const params = { ...kind.params?.(refs), ...(cursor && { cursor }) }
    this.#call(read, kind.op, params, ({ data, cursor: next }) => {
      const value: unknown = kind.member ? Object(data)[kind.member] : data
      const goOn = (page: readonly unknown[]) => {
        entries.push(...page)
        if (kind.isPaged && typeof next === 'string' && next !== '' && ++read.pages < maxPages)
          this.#page(read, next)
        else this.#end(read)
      }
      if (kind.empty === null && !kind.batch) goOn([value])
      else if (!Array.isArray(value)) this.#end(read, badAnswer(kind.op, false))
      else if (!kind.more || value.length === 0) goOn(value)
      else {
        const { op, params } = kind.more(refs[0] ?? 0, value)
        this.#call(read, op, params, ({ data: page }) => {
          if (Array.isArray(page)) goOn(page)
          else this.#end(read, badAnswer(op, false))
        })
      }
    })
  }

  #call(read: RunningRead, op: string, params: object, answered: (answer: Answer) => void): void {
    this.#context.call(op, params, (outcome: CallOutcome) => {
      if (outcome.type === 'answer') answered(outcome.answer)
      else this.#end(read, outcome.type === 'failure' ? outcome.failure : notConnected)
    })
  }

  /** Ends a read: with its entries, or without them. */
  #end(read: RunningRead, failure?: Failure): void {
    this.#reads--
    const { kind, refs, entries } = read
    const isTried = failure && isRepeated(failure)
    const byRef = valuesByRef(kind, entries)
    // A refusal is an answer too: it ends the back-off.
    this.#failures = isTried ? this.#failures + 1 : 0
    if (isTried) this.#readSoon(waitMsOf(this.#context, failure, this.#failures - 1))
    for (const [key, ref] of refs) {
      const isStale = this.#reading.get(key) === true
      this.#reading.delete(key)
      if (!failure || (!isTried && isEmpty(failure))) {
        const list = byRef ? byRef.get(ref) : kind.empty === null ? entries[0] : entries
        const record = this.#records.get(key)
        const answered = failure ? kind.empty : (list ?? kind.empty)
        const value = isSame(record?.value, answered) ? record?.value : answered
        this.#freshUsers.add(key)
        // An equal value stays the same object, so that views do not change.
        if (record?.value !== value || record?.isStale !== isStale)
          this.#put({ key, value, isStale })
      } else if (!isTried && !isStale) this.#failed.add(key)
      this.#offer(key)
    }
    if (!isTried) this.#readNext()
  }

  #put(record: CachedRead): void {
    this.#records.set(record.key, record)
    this.#context.batch.putCachedRead(record)
  }
}

/** Returns what each ref of a batch is answered with; undefined: the read is of one ref. */
function valuesByRef(
  { batch, empty }: ReadKind,
  entries: readonly unknown[],
): ReadonlyMap<unknown, unknown> | undefined {
  if (batch === undefined) return undefined
  const values = new Map<unknown, unknown>()
  for (const entry of entries) {
    const ref = Object(entry)[batch]
    values.set(ref, empty === null ? entry : [...listOf(values.get(ref)), entry])
  }
  return values
}

const timerOf = (key: string) => `stale ${key}`

function isSame(former: unknown, value: unknown): boolean {
  return JSON.stringify(former) === JSON.stringify(value)
}
