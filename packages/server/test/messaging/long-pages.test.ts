/** Pages of long entries end early, on both databases (rule A2b). */
import { type Api, type Session, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Speaker, sendToGroup, speakers } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { history, historyPage, sendText } from '../support/messaging/messaging.js'

const mebibyte = 1_048_576

for (const backend of testBackends()) {
  describe(`long pages on ${backend.name}`, () => {
    let watched: InProcessServer
    let api: Api

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      api = watched.server.api
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    /** The contents of all pages, newest first, each page checked against the bound. */
    async function pagesOf(reader: Api, peer: number, limit = 100): Promise<string[][]> {
      const pages: string[][] = []
      for (let start: number | bigint = 0; ; ) {
        const page = await historyPage(reader, peer, { start, limit })
        expect(Buffer.byteLength(JSON.stringify(page.messages))).toBeLessThan(1.1 * mebibyte)
        expect(page.messages.length).toBeGreaterThan(0)
        pages.push(page.messages.map(({ content }) => content))
        if (page.is_last) return pages
        start = page.next_msg_id
      }
    }

    it('of history hold about 1 MiB, and the next one goes on where they end', async () => {
      const alice = await api.newSession()
      const bob = await api.newSession()
      // Long ones beside short ones, and text that JSON has in six times its length.
      const sent = Array.from({ length: 60 }, (_, index) =>
        index % 3 === 0
          ? `short ${index}`
          : `${index} `.padEnd(60_000, index % 3 === 1 ? 'x' : '\u0001'),
      )
      for (const content of sent) await sendText(alice.api, bob.id, content)
      const pages = await pagesOf(bob.api, alice.id)
      expect(pages.flat()).toEqual(sent.toReversed())
      expect(pages.length).toBeGreaterThan(3)
    })

    it('of history that are short hold as many messages as were asked for', async () => {
      const alice: Session = await api.newSession()
      const bob = await api.newSession()
      const sent = Array.from({ length: 105 }, (_, index) => `${index}`)
      for (const content of sent) await sendText(alice.api, bob.id, content)
      for (const limit of [1, 20, 21, 22, 42, 43, 99, 100]) {
        const page = await historyPage(bob.api, alice.id, { limit })
        expect(page.messages.map(({ content }) => content)).toEqual(
          sent.toReversed().slice(0, limit),
        )
        expect([page.is_last, page.next_msg_id > 0]).toEqual([false, true])
      }
      expect((await history(bob.api, alice.id, 21)).map(({ content }) => content)).toEqual(
        sent.toReversed(),
      )
    })

    it('of the history of a group hold about 1 MiB, for members and for an Admin token', async () => {
      const [owner, member] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
      const groupId = await aGroup(owner, { members: [member] })
      const sent = Array.from({ length: 30 }, (_, index) => `${index} `.padEnd(60_000, 'y'))
      for (const content of sent) await sendToGroup(owner.api, groupId, content)
      for (const reader of [member.api, api.admin({ groupId })]) {
        const pages = await pagesOf(reader, groupId)
        expect(pages.flat()).toEqual(sent.toReversed())
        expect(pages.length).toBe(2)
      }
    })
  })
}
