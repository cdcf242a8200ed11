import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  after,
  empty,
  folded,
  headOf,
  me,
  message,
  peer,
  reader,
  requested,
  stored,
  two,
} from '../../../test/support/log-fixtures.js'
import { isWhole } from '../../model/message-fields.js'
import type { LogRecord, MessageRecord } from '../../model/records.js'
import {
  foldChangesPage,
  foldHead,
  foldHistory,
  headCaseOf,
  type HeadRequest,
} from './fold-answers.js'
import { beginFold, type Fold, foldChange, foldDeletion, foldPosition } from './log-fold.js'
import type { Head, FoldedChange } from './wire.js'

/** Applies a head. @returns the record, and what is left to do */
function taken(record: LogRecord, head: Head, options: Partial<HeadRequest> = {}) {
  const fold = beginFold(record)
  const result = foldHead(fold, head, { ...requested, ...options })
  return { ...fold, result }
}

const later = { change: 9, seq: 8, latestMsgId: 108 }
const newest = [message(8), message(7)]

describe('heads', () => {
  it('bring a new log with its newest messages; below is a hole', () => {
    const { record, result } = taken(
      empty,
      headOf(empty, { ...later, messages: newest, unread: 3 }),
    )
    expect(result).toBe('taken')
    expect(record).toMatchObject({
      change: 9,
      seq: 8,
      unread: 3,
      ranges: [[7, 8]],
      last: newest[0],
    })
  })

  it('with fewer messages than requested bring the whole log', () => {
    const { record } = taken(empty, headOf(empty, { ...later, messages: newest }), { window: 3 })
    expect(record.ranges).toEqual([[1, 8]])
  })

  it('without messages leave the newest one unknown', () => {
    const { record, result } = taken(empty, headOf(empty, later))
    expect(result).toBe('taken')
    expect(record).toMatchObject({ change: 9, seq: 8, ranges: [] })
    expect('last' in record).toBe(false)
  })

  it('with changes from the number of the client, or below, apply the rest', () => {
    const head = { ...later, change: 3, seq: 3, latestMsgId: 103, unread: 7 }
    const changes = [stored(2, 2), stored(3, 3)]
    const { record } = taken(two, headOf(two, { ...head, from: 1, changes }))
    expect(record).toMatchObject({ change: 3, seq: 3, unread: 7, ranges: [[1, 3]] })
  })

  it('with changes above the number of the client leave a gap', () => {
    const { record, result } = taken(two, headOf(two, { ...later, from: 5 }))
    expect(result).toBe('missing')
    expect(record).toMatchObject({ change: 2, isHeadNeeded: true })
  })

  it('of a list ask for few changes, and drop a log that has many', () => {
    const few = taken(two, headOf(two, { ...later, messages: newest }), { asked: 'list' })
    expect([few.result, few.record.change]).toEqual(['behind', 2])
    const many = headOf(two, { ...later, change: 200, messages: newest })
    const { result, record, isEmptied } = taken(two, many, { asked: 'list' })
    expect([result, isEmptied]).toEqual(['taken', true])
    expect(record).toMatchObject({ change: 200, ranges: [[7, 8]] })
  })

  it('that did not fit are requested by name, then by their changes', () => {
    expect(taken(two, headOf(two, later)).result).toBe('behind')
    expect(taken(two, headOf(two, later), { asked: 'named' }).result).toBe('missing')
  })

  it('older than the log change no mark and no count', () => {
    const three = after(two, stored(3, 3, { senderId: me }))
    const { record } = taken(three, headOf(two, { unread: 2, from: 2 }), { moved: 'changes' })
    expect(record).toMatchObject({ change: 3, unread: 0, readSeq: 3, isHeadNeeded: false })
  })

  it('requested before a mark came do not take it back', () => {
    const read = { ...two, readSeq: 2, unread: 0 }
    const { record } = taken(read, headOf(two, { from: 2 }), { moved: 'numbers' })
    expect(record).toMatchObject({ unread: 0, readSeq: 2, isHeadNeeded: true })
  })

  it('below the number of the client drop a log whose changes are lost', () => {
    const lost = headOf(empty, { change: 1, seq: 1, latestMsgId: 101, messages: [message(1)] })
    const { record, isEmptied } = taken(two, lost)
    expect(isEmptied).toBe(true)
    expect(record).toMatchObject({ change: 1, seq: 1, ranges: [[1, 1]], unread: 0 })
  })

  it('of a group whose history became visible make a hole of what was hidden', () => {
    const group = { ...two, key: 'g7', kind: 'group' as const, hiddenMsgId: 101 }
    const { record, isEmptied } = taken(group, headOf(group, { hiddenMsgId: 0, from: 2 }))
    expect(isEmptied).toBe(true)
    expect(record).toMatchObject({ hiddenMsgId: 0, ranges: [] })
  })
})

describe('the case of a head', () => {
  const log = { ...two, change: 10, seq: 8, ranges: [[1, 8]] as const }
  const holdsNothing = { ...log, ranges: [] }
  const group = { ...log, kind: 'group' as const, hiddenMsgId: 105 }
  const fits = { messages: newest }
  const visible = { hiddenMsgId: 0 }

  it.each<[string, LogRecord, Partial<Head>, Partial<HeadRequest>, string]>([
    ['a lower number, nothing has happened', log, { change: 9 }, {}, 'lost'],
    ['a lower number, a mark has come', log, { change: 9 }, { moved: 'numbers' }, 'lost'],
    ['a lower number, changes have come', log, { change: 9 }, { moved: 'changes' }, 'older'],
    ['a lower number, both have come', log, { change: 9 }, { moved: 'both' }, 'older'],
    ['less hidden', group, visible, {}, 'shown'],
    ['less hidden, changes have come', group, visible, { moved: 'changes' }, 'shown'],
    ['less hidden, a deletion has come', group, visible, { moved: 'numbers' }, 'same'],
    ['the same number', log, {}, {}, 'same'],
    ['changes from the number', log, { change: 12, from: 10 }, { asked: 'named' }, 'changes'],
    ['changes from above', log, { change: 20, from: 15 }, {}, 'missing'],
    ['changes from above, of no messages', holdsNothing, { change: 20, from: 15 }, {}, 'changes'],
    ['a higher number, of no messages', holdsNothing, { change: 20 }, {}, 'whole'],
    ['messages, asked by name', log, { change: 20, ...fits }, { asked: 'named' }, 'whole'],
    ['no messages, asked by name', log, { change: 20 }, { asked: 'named' }, 'missing'],
    ['messages, not by name', log, { change: 20, ...fits }, {}, 'whole'],
    ['no messages, not by name', log, { change: 20 }, {}, 'behind'],
    ['messages, of a list', log, { change: 111, ...fits }, { asked: 'list' }, 'whole'],
    [
      'messages, of a list, few changes',
      log,
      { change: 110, ...fits },
      { asked: 'list' },
      'behind',
    ],
  ])('%s', (_name, record, members, request, expected) => {
    expect(headCaseOf(record, headOf(record, members), { ...requested, ...request })).toBe(expected)
  })
})

describe('pages of changes', () => {
  const page = { next: 3, change: 3, hiddenMsgId: 0, quotes: [] }

  it('count a kind that the client does not know', () => {
    const changes = [{ change: 3, kind: 'unknown' } as const]
    const record = folded(two, (fold) =>
      foldChangesPage(fold, { ...page, from: 2, changes }, { ...reader, after: 2 }),
    )
    expect(record).toMatchObject({ change: 3, isHeadNeeded: true })
  })

  it('without a beginning drop the log, unless it has moved', () => {
    const gone = { ...page, next: 30, change: 30, changes: [] }
    const dropped = folded(two, (fold) => foldChangesPage(fold, gone, { ...reader, after: 2 }))
    expect(dropped).toMatchObject({ change: 30, ranges: [], isHeadNeeded: true })
    const moved = folded(two, (fold) => foldChangesPage(fold, gone, { ...reader, after: 1 }))
    expect(moved).toBe(two)
  })
})

describe('pages of history', () => {
  const log = { ...two, seq: 8, ranges: [[8, 8]] as const }
  const messages = [message(7), message(6), message(4)]
  const page = { messages, fromSeq: 4, beforeSeq: 8, quotes: [] }

  it('fill holes; positions without a message are gone', () => {
    const fold = beginFold(log)
    foldHistory(fold, page, new Map())
    expect([...fold.messages.keys()]).toEqual([7, 6, 4])
    expect(fold.record.ranges).toEqual([[4, 8]])
  })

  it('bring back no old text and no recalled message', () => {
    const fold = beginFold(log)
    const edited = message(6, { content: 'new' })
    foldHistory(
      fold,
      page,
      new Map([
        [7, null],
        [6, edited],
      ]),
    )
    expect(fold.messages.get(7)).toBeUndefined()
    expect(fold.messages.get(6)).toBe(edited)
  })

  it('never replace what is stored, and put nothing that is hidden or beyond the log', () => {
    const fold = beginFold({ ...log, seq: 6, ranges: [[6, 6]], hiddenMsgId: 104 })
    foldHistory(fold, page, new Map())
    expect(fold.messages.size).toBe(0)
    expect(fold.record.ranges).toEqual([[4, 6]])
  })
})

describe('a log', () => {
  const step = fc.record({
    what: fc.constantFrom(
      'send',
      'send',
      'own',
      'edit',
      'recall',
      'read',
      'hide',
      'head',
      'history',
    ),
    which: fc.nat(30),
  })

  it('equals a list of all messages, whatever is read when', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(6), (steps, begin) => {
        const server = new ListedLog()
        const messages = new Map<number, MessageRecord>()
        let record = empty
        const run = (fold: (each: Fold) => void) => {
          const each = beginFold(record)
          fold(each)
          if (each.isEmptied) messages.clear()
          for (const [seq, found] of messages)
            if (found.msgId <= each.hiddenMsgId) messages.delete(seq)
          for (const [seq, found] of each.messages) {
            if (isWhole(found)) messages.set(seq, found)
            else messages.delete(seq)
          }
          // A first change needs the head, for the other log of the peer only.
          record = each.record.change === 1 ? { ...each.record, isHeadNeeded: false } : each.record
        }
        const takeHead = (isNamed: boolean) =>
          run((fold) => {
            foldHead(fold, server.head(isNamed ? record.change : undefined), {
              ...requested,
              asked: isNamed ? 'named' : 'delta',
            })
          })
        for (const [index, { what, which }] of steps.entries()) {
          const isJoined = index >= begin
          if (index === begin) takeHead(false)
          if (what === 'head' && isJoined) takeHead(true)
          else if (what === 'history' && isJoined) {
            const page = server.history(1 + (which % (record.seq + 1)), 3)
            run((fold) => foldHistory(fold, page, new Map()))
          } else {
            const event = server.act(what, which)
            if (event && isJoined) run((fold) => event(fold))
          }
        }
        if (record === empty) return
        if (record.isHeadNeeded) takeHead(true)
        const { visible, unread } = server
        expect(record).toMatchObject({ change: server.changes.length, seq: server.seq, unread })
        const held = record.ranges.flatMap(([from, to]) =>
          visible.filter(({ seq }) => from <= seq && seq <= to),
        )
        expect([...messages.values()].sort((a, b) => a.seq - b.seq)).toEqual(held)
        if (record.last !== undefined) expect(record.last ?? undefined).toEqual(visible.at(-1))
      }),
    )
  })
})

/** A log at the server: a list of all messages. */
class ListedLog {
  readonly changes: { readonly kind: 'stored' | 'edited' | 'recalled'; readonly seq: number }[] = []
  readonly #messages: (MessageRecord | null)[] = []
  #readSeq = 0
  #hiddenMsgId = 0

  get seq(): number {
    return this.#messages.length
  }

  get visible(): MessageRecord[] {
    return this.#messages.filter(
      (each) => each !== null && each.msgId > this.#hiddenMsgId,
    ) as MessageRecord[]
  }

  get unread(): number {
    return this.visible.filter(({ seq, senderId }) => senderId !== me && seq > this.#readSeq).length
  }

  /** @returns what an event of it does to a log; undefined: nothing happened */
  act(what: string, which: number): ((fold: Fold) => void) | undefined {
    const seq = 1 + (which % Math.max(1, this.seq))
    const old = this.#messages[seq - 1]
    if (what === 'read') {
      this.#readSeq = Math.max(this.#readSeq, Math.min(seq, this.seq))
      const mark = { actorId: me, seq: this.#readSeq, msgId: 100 + this.#readSeq }
      return (fold) => foldPosition(fold, 'read', mark, me)
    }
    if (what === 'hide') {
      this.#hiddenMsgId = 100 + this.seq
      const [msgId, end] = [this.#hiddenMsgId, this.seq]
      return (fold) => foldDeletion(fold, msgId, end)
    }
    if (what === 'send' || what === 'own') {
      const senderId = what === 'own' ? me : peer
      this.#messages.push(message(this.seq + 1, { senderId }))
      if (what === 'own') this.#readSeq = this.seq
      this.changes.push({ kind: 'stored', seq: this.seq })
    } else if (old && what === 'edit') {
      const editTimestamp = this.changes.length
      this.#messages[seq - 1] = { ...old, content: `${old.content}+`, editTimestamp }
      this.changes.push({ kind: 'edited', seq })
    } else if (old && what === 'recall') {
      this.#messages[seq - 1] = null
      this.changes.push({ kind: 'recalled', seq })
    } else return undefined
    const change = this.#change(this.changes.length)
    return (fold) => {
      foldChange(fold, change, reader)
    }
  }

  head(known: number | undefined): Head {
    const { visible } = this
    return headOf(empty, {
      positions: { readSeq: this.#readSeq, deliveredSeq: 0, peerReadSeq: 0, peerDeliveredSeq: 0 },
      change: this.changes.length,
      seq: this.seq,
      unread: this.unread,
      latestMsgId: visible.at(-1)?.msgId ?? 0,
      hiddenMsgId: this.#hiddenMsgId,
      ...(known === undefined
        ? { messages: visible.slice(-2).reverse() }
        : {
            from: known,
            changes: this.changes.slice(known).map((_, index) => this.#change(known + index + 1)),
          }),
    })
  }

  history(beforeSeq: number, limit: number) {
    const below = this.visible.filter(({ seq }) => seq < beforeSeq).reverse()
    const messages = below.slice(0, limit)
    const fromSeq = messages.length === below.length ? 1 : (messages.at(-1)?.seq ?? 1)
    return { messages, fromSeq, beforeSeq, quotes: [] }
  }

  /** A change as it is read now: a later one may have overtaken it. */
  #change(change: number): FoldedChange {
    const { kind, seq } = this.changes[change - 1] as (typeof this.changes)[number]
    const found = this.#messages[seq - 1] ?? null
    const isLatest = !this.changes.slice(change).some((each) => each.seq === seq)
    const isHidden = 100 + seq <= this.#hiddenMsgId
    if (isHidden || (kind !== 'stored' && !isLatest)) return { change, kind: 'skipped' }
    if (kind === 'recalled') return { change, kind, seq, msgId: 100 + seq, senderId: peer }
    return found ? { change, kind, message: found } : { change, kind: 'skipped', seq }
  }
}
