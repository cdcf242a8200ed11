/** Reads that walk over all conversations of a user cost what they read (rule A2b). */
import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { operate } from '../support/messaging/message-operations.js'
import { sendText } from '../support/messaging/messaging.js'

const conversations = 10_000
/** Tokens of a user, which come back too slowly for a test to see. */
const burst = 50

for (const backend of anyBackend()) {
  describe(`a user with ${conversations} conversations on ${backend.name}`, () => {
    let server: InProcessServer
    let peer: Session

    beforeAll(async () => {
      server = await InProcessServer.start(backend, {
        HERMOD_RATE_LIMIT: 'on',
        HERMOD_USER_RATE: '1',
        HERMOD_USER_BURST: `${burst}`,
      })
      peer = await server.api.newSession()
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    /** Entries of the list; that nothing was written in them makes no difference for a walk. */
    async function aUser(): Promise<Session> {
      const user = await server.api.newSession()
      await server.sql.run(`insert into readers (app_id, user_id, low_id, high_id)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${conversations})
        select '${server.appId}', ${user.id}, i, ${user.id} from n`)
      return user
    }

    const read =
      (path: string, query: Readonly<Record<string, number>> = {}) =>
      (user: Session) =>
        user.api.call('GET', path, { query })

    it.each([
      ['the list of conversations', read('/message/conversation_list'), 3],
      ['unread counts', read('/message/unread'), 3],
      ['reading everything', read('/message/ack'), 3],
      // It is looked for among the messages, and then among those that were removed.
      ['acknowledging an unknown ID', read('/message/ack', { msg_id: 4_096 }), 2],
      [
        'a receipt for an unknown ID',
        (user: Session) => operate(user.api, 'readAck', { peer: peer.id, message: 4_096 }),
        2,
      ],
    ] as const)('%s puts the user into debt, and no other user', async (_, call, admitted) => {
      const user = await aUser()
      await sendText(peer.api, user.id, 'text')
      for (let calls = 0; calls < admitted; calls++)
        expect((await call(user)).code).not.toBe(answerCode.too_many_requests)
      expect((await call(user)).code).toBe(answerCode.too_many_requests)
      const other = await server.api.newSession()
      expect((await other.api.call('GET', '/message/unread')).code).toBe(200)
    })

    it('acknowledging an ID above all messages is answered without a walk', async () => {
      const user = await aUser()
      const newest = await sendText(peer.api, user.id, 'text')
      for (let calls = 0; calls < burst / 2; calls++)
        expect((await read('/message/ack', { msg_id: newest + 1 })(user)).code).toBe(
          answerCode.message_not_found,
        )
    })
  })
}
