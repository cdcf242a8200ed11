/** Logs are read by their parties only, whatever form a caller names them in (decision page 049). */
import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { notify, sendText } from '../support/messaging/messaging.js'
import {
  direct,
  groupLog,
  type LogKey,
  logPage,
  trySync,
} from '../support/messaging/sync-client.js'

const secret = 'a text for its parties'

for (const backend of testBackends()) {
  describe(`rights to read logs on ${backend.name}`, () => {
    let server: InProcessServer
    let people: PeoplePool

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      people = new PeoplePool(server, 30)
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    const pair = async () => (await people.take(2)) as [Person, Person]

    /** Expects that a log is refused in each way of reading it. */
    async function expectRefused({ api }: Person, log: LogKey, code: number): Promise<void> {
      const calls = {
        '/message/changes': { log, after_change: 0 },
        '/message/history': { log },
      }
      for (const [path, body] of Object.entries(calls)) {
        const answer = await api.call('POST', path, { body })
        expect(answer, `${path} ${JSON.stringify(log)}`).toMatchObject({ code, data: null })
      }
      const { data, text } = await trySync(api, { have: [{ log, change: 0 }], window: 50 })
      expect(data.heads.map((head: { log: LogKey }) => head.log)).not.toContainEqual(log)
      expect(data.gone).toContainEqual(log)
      expect(text).not.toContain(secret)
    }

    it('a direct log: is not given to others', async () => {
      const [alice, bob] = await pair()
      const [stranger, contact] = await pair()
      await sendText(alice.api, bob.id, secret)
      await sendText(alice.api, contact.id, 'hello')
      const log = direct(alice.id, bob.id)
      await expectRefused(stranger, log, answerCode.conversation_not_found)
      await expectRefused(contact, log, answerCode.conversation_not_found)
      expect((await logPage(bob.api, log)).messages).toMatchObject([{ content: secret }])
    })

    it('messages of the system, and of a user to itself: are not given to others', async () => {
      const [alice, stranger] = await pair()
      await notify(server.api.admin(), alice.id, secret)
      await sendText(alice.api, alice.id, secret)
      await expectRefused(stranger, direct(0, alice.id), answerCode.conversation_not_found)
      await expectRefused(stranger, direct(alice.id, alice.id), answerCode.conversation_not_found)
      for (const log of [direct(0, alice.id), direct(alice.id, alice.id)])
        expect((await logPage(alice.api, log)).messages).toMatchObject([{ content: secret }])
    })

    it('a group: is named as a group, and is given to its members', async () => {
      const [owner, stranger] = await pair()
      const group = await aGroup(owner)
      await sendToGroup(owner.api, group, secret)
      const asDirect = direct(group, group)
      await expectRefused(stranger, groupLog(group), answerCode.member_required)
      await expectRefused(stranger, asDirect, answerCode.conversation_not_found)
      const answer = await owner.api.call('POST', '/message/history', { body: { log: asDirect } })
      expect(answer.code).toBe(answerCode.conversation_not_found)
      expect((await logPage(owner.api, groupLog(group))).messages).toMatchObject([
        { content: secret },
      ])
    })

    it('a group named as direct: does not show what is hidden from later members', async () => {
      const [owner, later] = await pair()
      const group = await aGroup(owner)
      await sendToGroup(owner.api, group, secret)
      const user_list = [later.id]
      await expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group, { user_list }),
      )
      await expectRefused(later, direct(group, group), answerCode.conversation_not_found)
      expect((await logPage(later.api, groupLog(group))).messages).toEqual([])
    })

    it('a user named as a group: is no group', async () => {
      const [alice, stranger] = await pair()
      await sendText(alice.api, alice.id, secret)
      const log = groupLog(alice.id)
      await expectRefused(stranger, log, answerCode.conversation_not_found)
      const answer = await alice.api.call('POST', '/message/history', { body: { log } })
      expect(answer.code).toBe(answerCode.conversation_not_found)
    })
  })
}
