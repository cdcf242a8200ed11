import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownServer } from '../support/in-process-server.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  integrityFaults,
  sendText,
  sessions,
} from '../support/messaging/messaging.js'

describe.each(anyBackend())('restarts with messages on $name', (backend) => {
  const server = ownServer(backend)

  it('a restart: keeps messages, read marks, deletions and transaction IDs', async () => {
    const [alice, bob] = await sessions(server, 2)
    const transaction_id = 2n ** 53n + 1n
    const id = await sendText(alice.api, bob.id, 'before', { transaction_id })
    await acknowledge(bob.api)
    await deleteConversation(bob.api, alice.id)
    await server.stop()
    await server.startAgain()
    const [ofAlice, ofBob] = [server.api.as(alice.token), server.api.as(bob.token)]
    const [message] = await history(ofAlice, bob.id)
    expect(message).toMatchObject({ msg_id: id, content: 'before', status: 'READ' })
    expect(await history(ofBob, alice.id)).toEqual([])
    expect(await conversationList(ofBob)).toEqual([])
    expect(await sendText(ofAlice, bob.id, 'after', { transaction_id })).toBe(id)
    const other = { transaction_id: transaction_id - 1n }
    expect(await sendText(ofAlice, bob.id, 'other', other)).toBeGreaterThan(id)
    expect(await contents(ofAlice, bob.id)).toEqual(['other', 'before'])
    expect(await contents(ofBob, alice.id)).toEqual(['other'])
    // A message of one's own ends a deletion too.
    await deleteConversation(ofBob, alice.id)
    await sendText(ofBob, alice.id, 'own')
    expect(await contents(ofBob, alice.id)).toEqual(['own'])
    expect(await contents(ofAlice, bob.id)).toEqual(['own', 'other', 'before'])
  })

  describe('a clock that was ahead of time', () => {
    it('leaves messages from the future behind, which the next ones follow in order', async () => {
      const [alice, bob] = await sessions(server, 2)
      const id = await sendText(alice.api, bob.id, 'from the future')
      const hour = 3_600_000 * 4096
      await server.stop()
      await server.sql.run(`update messages set msg_id = msg_id + ${hour} where msg_id = ${id}`)
      await server.sql.run(
        `update conversations set last_msg_id = last_msg_id + ${hour} where last_msg_id = ${id}`,
      )
      await server.startAgain()
      const api = server.api.as(bob.token)
      const next = await sendText(api, alice.id, 'from now')
      expect(next).toBeGreaterThan(id + hour)
      expect(await sendText(api, alice.id, 'and on')).toBeGreaterThan(next)
      expect(await contents(api, alice.id)).toEqual(['and on', 'from now', 'from the future'])
      expect(await integrityFaults(server)).toEqual([])
    })
  })
})
