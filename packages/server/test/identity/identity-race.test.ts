/** Issued tokens beside the end of their users and links, with callers at once (rules C9, C9a). */
import { type Answer, type Api, parallelBackend, type TokenData } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { accountCalls } from '../support/accounts.js'
import { answerCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults } from '../support/messaging/messaging.js'

const rounds = 6
const [backend] = parallelBackend()

describe(`issued tokens with callers at once on ${backend?.name}`, () => {
  const server = ownServer(backend as NonNullable<typeof backend>)
  const { issue, issued, link, revoke, unlink, identitiesOf } = backendCalls(() => api.admin())
  const { codeOfToken } = accountCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  const remove = (userId: number) => api.admin({ userId }).succeed('POST', '/user/delete')
  const setEnabled = (id: number, change: 'disable' | 'enable') =>
    api.admin().succeed('PUT', `/user/${change}`, { body: { list: [id] } })

  /** Four calls for the subject, with the end in their middle. */
  async function beside(
    body: object,
    end: () => Promise<unknown>,
  ): Promise<readonly Answer<TokenData>[]> {
    const call = (device: number) => issue({ ...body, device_guid: `device ${device}` })
    const [one, two, , three, four] = await Promise.all([call(1), call(2), end(), call(3), call(4)])
    return [one, two, three, four]
  }

  it.each<[string, (id: number) => Promise<unknown>]>([
    ['disabled', (id) => setEnabled(id, 'disable')],
    ['logged out', (user_id) => revoke({ user_id })],
  ])('are ended with the others or come after, when the user is %s', async (end, call) => {
    for (let round = 0; round < rounds; round++) {
      const subject = newSubject()
      const { user_id: id } = (await issued({ ...subject, create: {} })).data
      const answers = await beside(subject, () => call(id))
      for (const { code, data } of answers) {
        expect([answerCode.ok, answerCode.user_disabled]).toContain(code)
        if (code === answerCode.ok && end === 'disabled')
          expect(await codeOfToken(data.token)).not.toBe(answerCode.ok)
      }
      const early = await server.sql.run(
        `select t.token_hash from user_tokens t join users u on u.user_id = t.user_id
         where u.user_id = ${id} and t.revoked_at is null and t.created_at < u.assertions_after`,
      )
      expect(early).toEqual([])
    }
  })

  it('are for the user before a deletion or for a new one after it', async () => {
    for (let round = 0; round < rounds; round++) {
      const subject = newSubject()
      const { user_id: id } = (await issued({ ...subject, create: {} })).data
      const answers = await beside({ ...subject, create: {} }, () => remove(id))
      const users = new Set<number>()
      for (const { code, data } of answers) {
        expect(code).toBe(answerCode.ok)
        if (data.user_id === id) expect(await codeOfToken(data.token)).not.toBe(answerCode.ok)
        else {
          users.add(data.user_id)
          expect(await codeOfToken(data.token)).toBe(answerCode.ok)
        }
      }
      expect(users.size).toBeLessThanOrEqual(1)
      const made = answers.filter(({ envelope }) => envelope.created)
      expect(made).toHaveLength(users.size)
    }
  })

  it('are for the user of the subject while the subject moves to another one', async () => {
    for (let round = 0; round < rounds; round++) {
      const subject = newSubject()
      const [from, to] = [await api.register(), await api.register()]
      await link(from.id, subject)
      const answers = await beside({ ...subject, create: {} }, async () => {
        await unlink(from.id, subject)
        await link(to.id, subject)
      })
      const owner = (await issued(subject)).data.user_id
      const created = answers.filter(({ envelope }) => envelope.created)
      for (const { code } of answers) expect(code).toBe(answerCode.ok)
      // A first call between the two changes makes a user, who then has the subject.
      expect(owner).toBe(created[0]?.data.user_id ?? to.id)
      for (const { id } of [from, to])
        expect(await identitiesOf(id)).toEqual(id === owner ? [subject] : [])
    }
  })

  it('leave nothing that the integrity check finds', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
