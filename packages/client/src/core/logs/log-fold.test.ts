import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogRecord, MessageRecord } from '../records.js'
import {
  beginFold,
  emptyLog,
  type Fold,
  foldChange,
  foldChangesPage,
  foldDeletion,
  foldHead,
  foldHistory,
  foldMark,
  foldRead,
  showRead,
} from './log-fold.js'
import type { Head, LogChange } from './wire.js'

const me = 5
const peer = 9
const key = 'd5.9'
const reader = { me, answeredMsgId: 0 }

function message(seq: number, members: Partial<MessageRecord> = {}): MessageRecord {
  return {
    ...{ log: key, seq, msgId: 100 + seq, senderId: peer, senderDeviceSn: 0, contentType: 0 },
    ...{ content: `text ${seq}`, attachment: '', config: '', ext: '', isSystem: false },
    ...{ timestamp: seq, editTimestamp: 0, ...members },
  }
}

function stored(change: number, seq: number, members: Partial<MessageRecord> = {}): LogChange {
  return { change, kind: 'stored', message: message(seq, members) }
}

/** Applies changes to a log. */
function after(record: LogRecord, ...changes: readonly LogChange[]): LogRecord {
  const fold = beginFold(record)
  for (const change of changes) expect(foldChange(fold, change, reader)).toBe('applied')
  showRead(fold)
  return fold.record
}

function folded(record: LogRecord, run: (fold: Fold) => void): LogRecord {
  const fold = beginFold(record)
  run(fold)
  showRead(fold)
  return fold.record
}

const empty = emptyLog(key, me)
const two = { ...after(empty, stored(1, 1), stored(2, 2)), isHeadNeeded: false }

describe('changes of a log', () => {
  it('apply in the order of their numbers, once', () => {
    const fold = beginFold(two)
    expect(foldChange(fold, stored(2, 2), reader)).toBe('known')
    expect(foldChange(fold, stored(4, 4), reader)).toBe('gap')
    expect(foldChange(fold, { change: 3, kind: 'unknown' }, reader)).toBe('gap')
    expect(fold.record).toBe(two)
  })

  it('that begin a log need its head', () => {
    expect(after(empty, stored(1, 1)).isHeadNeeded).toBe(true)
  })

  it('count messages of others as unread, and have the newest one', () => {
    expect(two).toMatchObject({ change: 2, seq: 2, unread: 2, ranges: [[1, 2]], peerReadSeq: 2 })
    expect(two.last?.seq).toBe(2)
  })

  it.each([
    ['in a chatroom', { groupType: 2 }],
    ['in a dissolved group', { status: 1 }],
    ['with mode 2', { muteMode: 2 }],
    ['below the mark of the user', { readSeq: 3 }],
  ])('count none %s', (_where, members) => {
    expect(after({ ...two, ...members }, stored(3, 3)).unread).toBe(2)
  })

  it('of the user read everything before, unless they are notifications', () => {
    expect(after(two, stored(3, 3, { senderId: me }))).toMatchObject({ unread: 0, readSeq: 3 })
    const notified = after(two, stored(3, 3, { senderId: me, isSystem: true }))
    expect(notified).toMatchObject({ unread: 2, readSeq: 0, isHeadNeeded: true })
  })

  it('that the user has answered in the other log of the peer are read', () => {
    const fold = beginFold(empty)
    foldChange(fold, stored(1, 1), { me, answeredMsgId: 101 })
    expect(fold.record).toMatchObject({ unread: 0, readSeq: 1 })
  })

  it('replace a held message, and are counted for one that is not held', () => {
    const edited = message(2, { content: 'new', editTimestamp: 7 })
    const fold = beginFold(two)
    foldChange(fold, { change: 3, kind: 'edited', message: edited }, reader)
    expect(fold.messages.get(2)).toBe(edited)
    expect(fold.record.last).toBe(edited)
    const hole = beginFold({ ...two, ranges: [] })
    foldChange(hole, { change: 3, kind: 'edited', message: edited }, reader)
    expect(hole.messages.size).toBe(0)
    expect(hole.record.change).toBe(3)
  })

  it('remove a recalled message: its position is present, and the newest one is not known', () => {
    const fold = beginFold(two)
    const recall = { change: 3, kind: 'recalled', seq: 2, msgId: 102, senderId: peer } as const
    foldChange(fold, recall, reader)
    expect(fold.messages.get(2)).toBeNull()
    expect(fold.record).toMatchObject({ ranges: [[1, 2]], unread: 2, isHeadNeeded: true })
    expect('last' in fold.record).toBe(false)
  })

  it('that the reader does not see count as present where they have a position', () => {
    expect(after(two, { change: 3, kind: 'skipped', seq: 3 })).toMatchObject({
      ...{ seq: 3, ranges: [[1, 3]], unread: 2, isHeadNeeded: true },
    })
    expect(after(two, { change: 3, kind: 'skipped' })).toMatchObject({
      seq: 2,
      isHeadNeeded: false,
    })
  })
})

describe('marks of a log', () => {
  const mark = (record: LogRecord, kind: 'read' | 'delivered', actorId: number, seq: number) =>
    folded(record, (fold) => foldMark(fold, kind, { actorId, seq, msgId: 100 + seq }, me))

  it('only grow', () => {
    expect(mark(two, 'read', peer, 1).peerReadSeq).toBe(2)
    expect(mark({ ...two, deliveredSeq: 2 }, 'delivered', me, 1).deliveredSeq).toBe(2)
  })

  it('of the user at the end leave nothing unread; elsewhere the server says how much', () => {
    expect(mark(two, 'read', me, 2)).toMatchObject({ unread: 0, readSeq: 2 })
    expect(mark(two, 'read', me, 1)).toMatchObject({ unread: 2, readSeq: 1, isHeadNeeded: true })
  })

  it('of the user beyond the log leave the next messages read', () => {
    expect(after(mark(two, 'read', me, 3), stored(3, 3)).unread).toBe(0)
  })

  it('in the conversation with oneself are those of both parties', () => {
    const own = { ...two, conversationId: me }
    expect(mark(own, 'read', me, 3)).toMatchObject({ readSeq: 3, peerReadSeq: 3 })
  })
})

describe('reading', () => {
  it('shows nothing unread before the server knows, until the next message', () => {
    const read = folded(two, (fold) => foldRead(fold, 102))
    expect(read).toMatchObject({ unread: 0, pendingReadMsgId: 102, readSeq: 0 })
    expect(after(read, stored(3, 3)).unread).toBe(1)
    const part = folded(two, (fold) => foldRead(fold, 101))
    expect(part).toMatchObject({ unread: 2, pendingReadMsgId: 101 })
  })

  it('is confirmed by the own mark, and by an own message', () => {
    const read = folded(two, (fold) => foldRead(fold, 102))
    const marked = folded(read, (fold) =>
      foldMark(fold, 'read', { actorId: me, seq: 2, msgId: 102 }, me),
    )
    expect(marked.pendingReadMsgId).toBeUndefined()
    expect(after(read, stored(3, 3, { senderId: me })).pendingReadMsgId).toBeUndefined()
  })

  it('stays shown when a head comes that the server read before', () => {
    const read = folded(two, (fold) => foldRead(fold, 102))
    const head = headOf(read, { unread: 2, from: 2 })
    const taken = folded(read, (fold) => foldHead(fold, head, requested))
    expect(taken).toMatchObject({ unread: 0, pendingReadMsgId: 102 })
  })
})

describe('a deletion', () => {
  it('drops what it hides, and what is left is not unread', () => {
    const fold = beginFold(two)
    foldDeletion(fold, 102, 2)
    expect(fold.hiddenMsgId).toBe(102)
    expect(fold.record).toMatchObject({ hiddenMsgId: 102, unread: 0, last: null })
    expect(after(fold.record, stored(3, 3))).toMatchObject({ unread: 1, last: { seq: 3 } })
  })

  it('below the end leaves the count to the server', () => {
    expect(folded(two, (fold) => foldDeletion(fold, 101, 1))).toMatchObject({
      ...{ hiddenMsgId: 101, isHeadNeeded: true, last: { seq: 2 } },
    })
  })
})

const requested = {
  ...reader,
  ...{ isCurrent: true, hasMoved: false, isNamed: false, isList: false, window: 2 },
}

function headOf(record: LogRecord, members: Partial<Head> = {}): Head {
  return {
    key,
    state: {},
    marks: {
      readSeq: record.readSeq,
      deliveredSeq: record.deliveredSeq,
      peerReadSeq: record.peerReadSeq,
      peerDeliveredSeq: record.peerDeliveredSeq,
    },
    change: record.change,
    seq: record.seq,
    unread: record.unread,
    latestMsgId: record.last?.msgId ?? 0,
    hiddenMsgId: record.hiddenMsgId,
    changes: [],
    ...members,
  }
}

/** Applies a head. @returns the record, and what is left to do */
function taken(record: LogRecord, head: Head, options: Partial<typeof requested> = {}) {
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
    const few = taken(two, headOf(two, { ...later, messages: newest }), { isList: true })
    expect([few.result, few.record.change]).toEqual(['behind', 2])
    const many = headOf(two, { ...later, change: 200, messages: newest })
    const { result, record, isEmptied } = taken(two, many, { isList: true })
    expect([result, isEmptied]).toEqual(['taken', true])
    expect(record).toMatchObject({ change: 200, ranges: [[7, 8]] })
  })

  it('that did not fit are requested by name, then by their changes', () => {
    expect(taken(two, headOf(two, later)).result).toBe('behind')
    expect(taken(two, headOf(two, later), { isNamed: true }).result).toBe('missing')
  })

  it('older than the log change no mark and no count', () => {
    const three = after(two, stored(3, 3, { senderId: me }))
    const { record } = taken(three, headOf(two, { unread: 2, from: 2 }), { hasMoved: true })
    expect(record).toMatchObject({ change: 3, unread: 0, readSeq: 3, isHeadNeeded: false })
  })

  it('requested before a mark came do not take it back', () => {
    const read = { ...two, readSeq: 2, unread: 0 }
    const { record } = taken(read, headOf(two, { from: 2 }), { isCurrent: false })
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

describe('pages of changes', () => {
  const page = { next: 3, change: 3, hiddenMsgId: 0 }

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
  const page = { messages: [message(7), message(6), message(4)], fromSeq: 4, beforeSeq: 8 }

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
            if (found) messages.set(seq, found)
            else messages.delete(seq)
          }
          // A first change needs the head, for the other log of the peer only.
          record = each.record.change === 1 ? { ...each.record, isHeadNeeded: false } : each.record
        }
        const takeHead = (isNamed: boolean) =>
          run((fold) => {
            foldHead(fold, server.head(isNamed ? record.change : undefined), {
              ...requested,
              isNamed,
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
      return (fold) => foldMark(fold, 'read', mark, me)
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
      marks: { readSeq: this.#readSeq, deliveredSeq: 0, peerReadSeq: 0, peerDeliveredSeq: 0 },
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
    return { messages, fromSeq, beforeSeq }
  }

  /** A change as it is read now: a later one may have overtaken it. */
  #change(change: number): LogChange {
    const { kind, seq } = this.changes[change - 1] as (typeof this.changes)[number]
    const found = this.#messages[seq - 1] ?? null
    const isLatest = !this.changes.slice(change).some((each) => each.seq === seq)
    const isHidden = 100 + seq <= this.#hiddenMsgId
    if (isHidden || (kind !== 'stored' && !isLatest)) return { change, kind: 'skipped' }
    if (kind === 'recalled') return { change, kind, seq, msgId: 100 + seq, senderId: peer }
    return found ? { change, kind, message: found } : { change, kind: 'skipped', seq }
  }
}
