import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changeOf,
  changesPageOf,
  eventChangeOf,
  headOf,
  historyPageOf,
  messageOf,
  quotesOf,
  syncPageOf,
} from './wire.js'

const log = { low_id: 1, high_id: 5, is_group: false }
const message = {
  conversation: log,
  msg_id: 70,
  seq: 3,
  sender_id: 1,
  sender_device_sn: 2,
  content_type: 0,
  content: 'hi',
  attachment: '',
  config: '',
  ext: '',
  is_system: false,
  timestamp: 9,
  edit_timestamp: 0,
}
const head = { log, kind: 'direct', change: 4, seq: 3, unread: 1, latest_msg_id: 70, changes: [] }

describe('messages of the wire', () => {
  it('have the transaction ID as a number', () => {
    const found = messageOf('d1.5', { ...message, transaction_id: '77', unknown: 1 })
    expect(found).toMatchObject({ log: 'd1.5', msgId: 70, seq: 3, transactionId: 77 })
  })

  it('have all further members as fields, known or not, and those of events not', () => {
    const later = { reactions: [{ key: 'x' }], later: { a: 1 }, gone: null }
    const found = messageOf('d1.5', { ...message, ...later, actor_id: 1, user_ids: [5] })
    expect(found?.fields).toEqual({ reactions: [{ key: 'x' }], later: { a: 1 } })
    expect(messageOf('d1.5', message)).not.toHaveProperty('fields')
  })

  it('have the original of a reply', () => {
    const found = messageOf('d1.5', { ...message, reply_to: { msg_id: 60, seq: 2 } })
    expect(found).toMatchObject({ replyTo: { msgId: 60, seq: 2 } })
    expect(found).not.toHaveProperty('fields')
    for (const reply_to of [null, 5, {}, { msg_id: 60 }, { msg_id: 0, seq: 1 }])
      expect(messageOf('d1.5', { ...message, reply_to })).not.toHaveProperty('replyTo')
  })

  it.each(['x', '9007199254740993', '-1', 5.5, null, '0'])(
    'have none that is %j',
    (transaction) => {
      const found = messageOf('d1.5', { ...message, transaction_id: transaction })
      expect(found).toBeDefined()
      expect(found?.transactionId).toBeUndefined()
    },
  )

  it.each([
    { msg_id: 2 ** 53 },
    { msg_id: 0 },
    { seq: '3' },
    { seq: 0 },
    { seq: 1.5 },
    { sender_id: undefined },
  ])('need safe integers: %j', (members) => {
    expect(messageOf('d1.5', { ...message, ...members })).toBeUndefined()
  })

  it('get empty texts in place of what is missing', () => {
    const found = messageOf('d1.5', { msg_id: 1, seq: 1, sender_id: 0, content: 5 })
    expect(found).toMatchObject({ content: '', ext: '', isSystem: false, timestamp: 0 })
  })
})

describe('quotes of the wire', () => {
  const original = { msg_id: 60, seq: 2 }
  const present = { ...original, state: 'present', sender_id: 5, content_type: 0, excerpt: 'hi' }

  it('have what their state has', () => {
    const recalled = { ...original, state: 'recalled', sender_id: 5 }
    const found = quotesOf([present, recalled, { ...original, state: 'hidden' }])
    const names = { msgId: 60, seq: 2 }
    expect(found).toEqual([
      { ...names, state: 'present', senderId: 5, contentType: 0, excerpt: 'hi' },
      { ...names, state: 'recalled', senderId: 5 },
      { ...names, state: 'hidden' },
    ])
  })

  it('are left out when they name nothing, or a state that this client does not know', () => {
    const nonsense = [null, 5, {}, { ...original, state: 'later' }, { state: 'hidden', seq: 1 }]
    expect(quotesOf(nonsense)).toEqual([])
    for (const value of [undefined, null, 5, {}]) expect(quotesOf(value)).toEqual([])
  })

  it('of a sync go to the logs with replies to their originals', () => {
    const reply = { ...message, reply_to: original }
    const other = { ...log, high_id: 9 }
    const page = syncPageOf({
      epoch: 'e',
      heads: [
        { ...head, messages: [reply] },
        { ...head, log: other, messages: [message] },
      ],
      quotes: [present],
    })
    expect(page?.heads.map(({ quotes }) => quotes.length)).toEqual([1, 0])
  })
})

describe('changes of the wire', () => {
  const kindOf = (event: string, data: unknown) => changeOf('d1.5', { event, change: 4, data }).kind

  it('are of six kinds, and of none that this client knows', () => {
    expect(kindOf('message.stored', message)).toBe('stored')
    expect(kindOf('message.appended', message)).toBe('edited')
    expect(kindOf('message.replaced', message)).toBe('edited')
    expect(kindOf('message.recalled', { seq: 3, msg_id: 70, sender_id: 1 })).toBe('recalled')
    expect(kindOf('change.skipped', { conversation: log })).toBe('skipped')
    expect(kindOf('changes.skipped', { conversation: log, count: 2 })).toBe('skipped')
    expect(kindOf('message.updated', { seq: 3, msg_id: 70, set: {} })).toBe('updated')
    expect(kindOf('message.reacted', message)).toBe('unknown')
    expect(kindOf('toString', message)).toBe('unknown')
  })

  it('of an event leave the own reactions of a message as they are, those of an answer have them', () => {
    const frame = { event: 'message.replaced', change: 4, data: { ...message, own: ['a', 1] } }
    expect(changeOf('d1.5', frame)).toMatchObject({ message: { fields: { 'own a': true } } })
    const { own: _, ...data } = frame.data
    const read = eventChangeOf('d1.5', { ...frame, data })
    expect(read).toMatchObject({ kind: 'updated', change: 4, seq: 3, set: {} })
    expect(eventChangeOf('d1.5', { ...frame, event: 'message.stored' }).kind).toBe('stored')
  })

  it('without what belongs to them are unknown', () => {
    expect(kindOf('message.stored', {})).toBe('unknown')
    expect(kindOf('message.recalled', { seq: 'x' })).toBe('unknown')
    expect(kindOf('message.updated', { seq: 3, msg_id: 70 })).toBe('unknown')
  })
})

describe('pages of the wire', () => {
  it('of sync leave out what is no head, no log and no thing', () => {
    const page = syncPageOf({
      epoch: 'e',
      pos: 'p',
      heads: [head, { ...head, change: 'x' }, { ...head, log: {} }, null, 5],
      gone: [log, {}, 'd1.2'],
      user: [{ kind: 1, ref: 2 }, { kind: 'contact', ref: 2 }, null],
      more: 'yes',
    })
    expect(page?.heads).toHaveLength(1)
    expect(page).toMatchObject({ gone: ['d1.5'], user: [{ kind: 1, ref: 2 }], hasMore: false })
  })

  it('of no shape are none, and nothing throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const members = typeof value === 'object' ? value : {}
        for (const data of [value, { ...head, ...members, log }, { ...members, heads: [value] }]) {
          syncPageOf(data)
          headOf(data)
          changesPageOf('d1.5', data)
          historyPageOf('d1.5', data)
          messageOf('d1.5', data)
        }
      }),
    )
    for (const value of [undefined, null, 1, 'x', [], {}, { heads: {} }]) {
      expect(syncPageOf(value)).toBeUndefined()
      expect(changesPageOf('d1.5', value)).toBeUndefined()
      expect(historyPageOf('d1.5', value)).toBeUndefined()
    }
  })
})
