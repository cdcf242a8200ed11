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
import { ownKeys } from '../../model/message-fields.js'
import type { LogRecord, MessageRecord } from '../../model/records.js'
import { foldHead } from './fold-answers.js'
import { beginFold, foldChange, foldDeletion, foldPosition, foldRead } from './log-fold.js'
import { eventChangeOf } from './wire.js'

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

  const updated = (change: number, seq: number, set: object) =>
    ({ change, kind: 'updated', seq, set: set as Record<string, unknown> }) as const

  it('change fields of a held message and of the newest one, and are counted for one that is not held', () => {
    const fold = beginFold(two)
    for (const [change, set] of [
      { a: 1, b: 2 },
      { b: null, c: 3 },
    ].entries())
      foldChange(fold, updated(3 + change, 2, set), reader)
    // The texts of the message are in the store.
    expect([...fold.messages]).toEqual([[2, { set: { a: 1, b: null, c: 3 } }]])
    expect(fold.record.last).toEqual({ ...two.last, fields: { a: 1, c: 3 } })
    const hole = beginFold({ ...two, ranges: [], last: null })
    foldChange(hole, updated(3, 2, { a: 1 }), reader)
    expect([hole.messages.size, hole.record.change]).toEqual([0, 3])
  })

  it('change fields of a message of the same fold, which a later edit replaces', () => {
    const fold = beginFold(two)
    for (const each of [stored(3, 3), updated(4, 3, { a: 1 })]) foldChange(fold, each, reader)
    expect(fold.messages.get(3)).toEqual(message(3, { fields: { a: 1 } }))
    const edited = message(2, { content: 'new', fields: { b: 1 } })
    foldChange(fold, updated(5, 2, { a: 1 }), reader)
    foldChange(fold, { change: 6, kind: 'edited', message: edited }, reader)
    expect(fold.messages.get(2)).toBe(edited)
  })

  it('keep the own reactions of a message in fields of their own, whatever an edit says', () => {
    const fold = beginFold(two)
    const reacted = [
      { userId: me, key: 'a', isOn: true },
      { userId: peer, key: 'b', isOn: true },
    ]
    foldChange(fold, { ...updated(3, 2, { reactions: [1] }), reacted }, reader)
    expect(fold.messages.get(2)).toEqual({ set: { reactions: [1], 'own a': true } })
    const edit = { msg_id: 102, seq: 2, sender_id: peer, content: 'new', edit_timestamp: 9 }
    const event = { event: 'message.replaced', change: 4, data: edit }
    foldChange(fold, eventChangeOf(two.key, event), reader)
    expect(ownKeys(fold.record.last as MessageRecord)).toEqual(['a'])
    expect(fold.record.last).toMatchObject({ content: 'new', editTimestamp: 9 })
    const off = [{ userId: me, key: 'a', isOn: false }]
    foldChange(fold, { ...updated(5, 2, {}), reacted: off }, reader)
    expect(fold.messages.get(2)).toMatchObject({
      set: { 'own a': null },
      texts: { content: 'new' },
    })
    expect(ownKeys(fold.record.last as MessageRecord)).toEqual([])
  })

  it('are skipped by one entry of several numbers, which the client may have in part', () => {
    const run = (change: number, count: number) => ({ change, kind: 'skipped', count }) as const
    expect(after(two, run(6, 4)).change).toBe(6)
    expect(after(two, run(6, 5)).change).toBe(6)
    const fold = beginFold(two)
    expect(foldChange(fold, run(7, 4), reader)).toBe('gap')
    expect(foldChange(fold, run(2, 2), reader)).toBe('known')
    expect(fold.record).toBe(two)
  })

  it('remove a recalled message: its position is present, and the newest one is not known', () => {
    const fold = beginFold(two)
    const recall = { change: 3, kind: 'recalled', seq: 2, msgId: 102, senderId: peer } as const
    foldChange(fold, recall, reader)
    expect(fold.messages.get(2)).toBeNull()
    expect(fold.record).toMatchObject({ ranges: [[1, 2]], unread: 1, isHeadNeeded: false })
    expect('last' in fold.record).toBe(false)
  })

  const recall = (change: number, seq: number, senderId = peer) =>
    ({ change, kind: 'recalled', seq, msgId: 100 + seq, senderId }) as const
  const skipped = (change: number, seq: number, senderId = peer, isSystem = false) =>
    ({ change, kind: 'skipped', seq, senderId, isSystem }) as const

  it.each([
    ['recall', recall],
    ['skipped number', skipped],
  ])('count a message once that they have counted: a %s takes it off', (_name, gone) => {
    const one = after(two, gone(3, 1))
    expect(one).toMatchObject({ unread: 1, counted: [[2, 2]], isHeadNeeded: false })
    // Whether the server had counted it already shows only a head.
    expect(after(one, gone(4, 1))).toMatchObject({ unread: 1, isHeadNeeded: true })
  })

  it.each([
    ['that a head has counted', {}, true],
    ['that was read before', { readSeq: 1, unread: 1 }, false],
    ['in a log without unread messages', { unread: 0 }, false],
  ])(
    'leave the count of a recalled message %s to the server, where it matters',
    (_name, members, isHeadNeeded) => {
      const { counted: _counted, ...taken } = { ...two, ...members }
      expect(after(taken, recall(3, 1))).toMatchObject({ unread: taken.unread, isHeadNeeded })
    },
  )

  it('of a recalled own message ask for no head: it read those before it, or is a notification', () => {
    expect(after(two, skipped(3, 3, me))).toMatchObject({
      unread: 0,
      readSeq: 3,
      isHeadNeeded: false,
    })
    expect(after(two, skipped(3, 3, me, true))).toMatchObject({
      unread: 2,
      readSeq: 0,
      isHeadNeeded: false,
    })
    expect(after(two, recall(3, 1, me))).toMatchObject({ unread: 2, isHeadNeeded: false })
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
    folded(record, (fold) => foldPosition(fold, kind, { actorId, seq, msgId: 100 + seq }, me))

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
      foldPosition(fold, 'read', { actorId: me, seq: 2, msgId: 102 }, me),
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
