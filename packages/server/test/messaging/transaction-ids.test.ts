import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  contents,
  history,
  notify,
  send,
  sendText,
  sessions,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1
const maxBytes = 65_536

describe.each(anyBackend())('a transaction_id on $name', (backend) => {
  const server = sharedServer(backend)

  it('that comes again answers the first msg_ids and makes no second message', async () => {
    const [alice, bob] = await sessions(server, 2)
    const first = await sendText(alice.api, bob.id, 'first', { transaction_id: 7 })
    expect(await sendText(alice.api, bob.id, 'again', { transaction_id: 7 })).toBe(first)
    expect(await sendText(alice.api, bob.id, 'as text', { transaction_id: '7' })).toBe(first)
    expect(await contents(bob.api, alice.id)).toEqual(['first'])
    expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
  })

  it('is exact over the whole int64 range', async () => {
    const [alice, bob] = await sessions(server, 2)
    const values = [
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 53n - 1n,
      2n ** 63n - 1n,
      2n ** 63n - 2n,
      -(2n ** 63n),
      -(2n ** 63n) + 1n,
      -1n,
      1n,
    ]
    const ids = new Map<bigint, number>()
    for (const value of values)
      ids.set(value, await sendText(alice.api, bob.id, `${value}`, { transaction_id: value }))
    expect(new Set(ids.values()).size).toBe(values.length)
    for (const [value, id] of ids) {
      expect(await sendText(alice.api, bob.id, 'again', { transaction_id: value })).toBe(id)
      expect(await sendText(alice.api, bob.id, 'again', { transaction_id: `${value}` })).toBe(id)
    }
    expect(await contents(bob.api, alice.id)).toEqual(values.map(String).toReversed())
  })

  it('of 0, and one that is empty or null, counts as absent', async () => {
    const [alice, bob] = await sessions(server, 2)
    const values = [0, '0', '-0', '', null]
    for (const transaction_id of [...values, ...values])
      await sendText(alice.api, bob.id, 'x', { transaction_id })
    expect(await history(bob.api, alice.id)).toHaveLength(2 * values.length)
  })

  it('belongs to its sender, however the sender is named', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
    const extras = { transaction_id: 2n ** 62n }
    const ofAlice = await sendText(alice.api, carol.id, 'alice', extras)
    const ofBob = await sendText(bob.api, carol.id, 'bob', extras)
    const ofSystem = await sendText(server.api.admin(), carol.id, 'system', extras)
    expect(new Set([ofAlice, ofBob, ofSystem]).size).toBe(3)
    expect(
      await sendText(server.api.admin(), carol.id, 'again', {
        ...extras,
        from_user_id: bob.id,
      }),
    ).toBe(ofBob)
    expect(await notify(server.api.admin(), carol.id, 'again', extras)).toBe(ofSystem)
    expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1, [bob.id]: 1, 0: 1 })
  })

  it('covers all targets of its send, and msg_ids stay a matter of exactly one recipient', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
    const body = textTo([bob.id, carol.id], 'to both', { transaction_id: 1 })
    const success = { code: 200, data: true, message: null }
    expect((await send(alice.api, body)).envelope).toEqual(success)
    expect((await send(alice.api, body)).envelope).toEqual(success)
    // Somebody else's idea of a repeat: what was sent first counts, and that had no msg_ids.
    expect((await send(alice.api, { ...body, targets: [bob.id] })).envelope).toEqual(success)
    expect(await contents(bob.api, alice.id)).toEqual(['to both'])
    expect(await contents(carol.api, alice.id)).toEqual(['to both'])
  })

  it('of a refused send is free for the next one', async () => {
    const [alice, bob] = await sessions(server, 2)
    await expectCode(
      send(alice.api, textTo([nobody], 'x', { transaction_id: 5 })),
      'user_not_found',
    )
    await expectCode(
      send(alice.api, textTo([bob.id], 'x'.repeat(maxBytes + 1), { transaction_id: 5 })),
      'message_too_large',
    )
    await sendText(alice.api, bob.id, 'accepted', { transaction_id: 5 })
    expect(await contents(bob.api, alice.id)).toEqual(['accepted'])
  })

  it('that arrives many times at once makes one message', async () => {
    const [alice, bob] = await sessions(server, 2)
    const rounds = 10
    for (let transaction_id = 1; transaction_id <= rounds; transaction_id++) {
      const ids = await Promise.all(
        Array.from({ length: 16 }, (_, copy) =>
          sendText(alice.api, bob.id, `copy ${copy}`, { transaction_id }),
        ),
      )
      expect(new Set(ids).size).toBe(1)
    }
    expect(await history(bob.api, alice.id)).toHaveLength(rounds)
    expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: rounds })
  })
})
