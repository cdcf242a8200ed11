/** Catching up costs what has changed, whatever the user has. */
import { anyBackend, isFullRun } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeRanges } from '../../dist/domain/messaging/model/message-ranges.js'
import { registerPeople } from '../support/contacts.js'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText } from '../support/messaging/messaging.js'
import { SyncReader } from '../support/messaging/sync-reader.js'

const conversations = isFullRun ? 5_000 : 1_000
const changed = 200

for (const backend of anyBackend()) {
  describe(`a user with ${conversations} conversations on ${backend.name}`, () => {
    let server: InProcessServer
    let reader: SyncReader
    let user: number
    const key = () => ({ appId: server.appId, userId: user })

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      reader = new SyncReader(server.place)
      const [person] = await registerPeople(server, 1)
      user = person?.id ?? 0
      const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${conversations})`
      await server.sql.run(
        `insert into readers (app_id, user_id, low_id, high_id) ${numbers} select 'test', ${user}, i, ${user} from n`,
      )
      await server.sql.run(
        `insert into conversations (app_id, low_id, high_id, seq, last_msg_id, created_at, last_recalled_seq, furthest_id, furthest_seq)
          ${numbers} select 'test', i, ${user}, 1, i * 4096, 0, 0, i, 1 from n`,
      )
      await server.sql.run('analyze')
    })

    afterAll(async () => {
      await reader?.[Symbol.asyncDispose]()
      await server?.[Symbol.asyncDispose]()
    })

    /** Rows of the outbox that store a second message in some of the conversations. */
    async function change(count: number): Promise<void> {
      const [{ position } = { position: 0 }] = await server.sql.run(
        `select position from outbox_heads where app_id = 'test'`,
      )
      for (let peer = 1; peer <= count; peer++) {
        const conversation = { appId: 'test', lowId: peer, highId: user, isGroup: false }
        const id = (conversations + peer) * 4096
        const range = {
          conversation,
          firstId: id,
          lastId: id,
          count: 1,
          firstSeq: 2,
          firstChange: 2,
        }
        await server.sql.run(
          `insert into outbox (app_id, position, kind, payload, created_at)
            values ('test', ${Number(position) + peer}, 'message.stored', '${encodeRanges([range])}', 1)`,
        )
      }
      await server.sql.run(
        `insert into messages (app_id, low_id, high_id, msg_id, seq, sender_id, sender_device_sn, content_type, content, attachment, config, ext, is_system, sent_at)
          select app_id, low_id, high_id, (${conversations} + low_id) * 4096, 2, low_id, 0, 0, 'text', '', '', '', 0, 1 from conversations
          where app_id = 'test' and high_id = ${user} and low_id <= ${count}`,
      )
      await server.sql.run(
        `update outbox_heads set position = position + ${count} where app_id = 'test'`,
      )
      await server.sql.run(
        `update conversations set seq = 2, last_msg_id = (${conversations} + low_id) * 4096 where app_id = 'test' and high_id = ${user} and low_id <= ${count}`,
      )
    }

    it('sync: takes one statement when nothing was appended, and few when it concerns other users', async () => {
      const [alice, bob] = await registerPeople(server, 2)
      if (!alice || !bob) throw new Error('no people')
      await sendText(alice.api, bob.id, 'text')
      const list = await reader.sync(key())
      expect(list.rows).toBe(conversations)
      const after = list.pos as string
      expect(await reader.sync(key(), { after })).toMatchObject({ heads: [], statements: 1 })
      for (let number = 0; number < 50; number++) await sendText(alice.api, bob.id, 'text')
      // The place, the user's groups, the rows, the user's changes.
      expect(await reader.sync(key(), { after })).toMatchObject({
        ...{ heads: [], statements: 4, rows: 50 },
      })
    })

    it('sync: takes a statement for each log that changed, and lists all of them page by page', async () => {
      const { pos } = await reader.sync(key())
      await change(changed)
      const delta = await reader.sync(key(), { after: pos as string, window: 0 })
      expect(delta).toMatchObject({ isList: false, hasMore: false })
      expect(delta.heads).toHaveLength(changed)
      // For each log its head and its changes; the place, groups, rows, user changes, and senders of broadcasts.
      expect(delta.statements).toBeLessThanOrEqual(5 + changed * 2)
      let cursor = ''
      let heads = 0
      let pages = 0
      do {
        const page = await reader.sync(key(), { after: pos as string, list: true, cursor })
        heads += page.heads.length
        cursor = page.cursor ?? ''
        // A place, a list, a count, the user's changes, and the heads.
        expect(page.statements).toBeLessThanOrEqual(5 + page.heads.length)
        pages++
      } while (cursor !== '')
      expect([heads, pages]).toEqual([conversations, conversations / 200])
    })
  })
}
