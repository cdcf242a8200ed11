/** Identities of users in other systems, on both databases (rule C9a). */
import { type Api, type Session, testBackends, waitFor } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const password = 'correct horse'

describe.each(testBackends())('identities on $name', (backend) => {
  const server = ownServer(backend)
  const { issue, issued, link, unlink, identitiesOf } = backendCalls(() => api.admin())
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  const changesOf = async (user: { readonly id: number }) =>
    (await recordedEvents(server.sql, 'user.identity')).filter(({ users }) =>
      users.includes(user.id),
    )
  const unlinkAs = ({ api: own }: Session, body: object) =>
    own.call('POST', '/user/identity/unlink', { body })

  it('are linked once, listed with their time, and unlinked', async () => {
    const user = await api.newSession()
    const [first, second] = [newSubject(), newSubject('shop')]
    for (const identity of [first, second, first]) await expectCode(link(user.id, identity), 'ok')
    const { data } = await user.api.succeed('GET', '/user/identity/list')
    expect(data).toEqual([
      { ...first, linked_at: expect.any(Number) },
      { ...second, linked_at: expect.any(Number) },
    ])
    expect(Math.abs(data[0].linked_at - Date.now())).toBeLessThan(60_000)
    await expectCode(unlink(user.id, first), 'ok')
    await expectCode(unlink(user.id, first), 'identity_not_found')
    await expectCode(issue(first), 'user_not_found')
    expect((await issued(second)).data.user_id).toBe(user.id)
    expect((await changesOf(user)).map(({ kind, actor }) => [kind, actor])).toEqual([
      ['user.identity_linked', 0],
      ['user.identity_linked', 0],
      ['user.identity_unlinked', 0],
    ])
  })

  it('have one user each, also when two are linked at once', async () => {
    const [alice, bob] = [await api.newSession(), await api.newSession()]
    for (let round = 0; round < 5; round++) {
      const identity = newSubject()
      const answers = await Promise.all(
        [alice, bob, alice, bob].map(({ id }) => link(id, identity)),
      )
      const codes = answers.map(({ code }) => code)
      expect(codes.filter((code) => code === answerCode.ok)).toHaveLength(2)
      expect(codes.filter((code) => code === answerCode.user_already_bound)).toHaveLength(2)
      const refused = answers.find(({ code }) => code === answerCode.user_already_bound)
      expect(refused?.envelope.message).toBe(
        'user is already bound: the identity is that of another user',
      )
    }
    const ofBoth = [...(await identitiesOf(alice.id)), ...(await identitiesOf(bob.id))]
    expect(ofBoth).toHaveLength(5)
  })

  it('are ten at most, also when they are linked at once', async () => {
    const user = await api.newSession()
    const identities = Array.from({ length: 14 }, () => newSubject())
    const answers = await Promise.all(identities.map((identity) => link(user.id, identity)))
    expect(answers.filter(({ code }) => code === answerCode.identity_limit_reached)).toHaveLength(4)
    const linked = await identitiesOf(user.id)
    expect(linked).toHaveLength(10)
    await expectCode(link(user.id, linked[3] as object), 'ok')
    await expectCode(unlink(user.id, linked[3] as object), 'ok')
    await expectCode(link(user.id, newSubject()), 'ok')
  })

  it('are not linked by their text with a user token, and unlinked by it with the password only', async () => {
    const user = await api.newSession()
    const [identity, other] = [newSubject(), newSubject()]
    const body = { ...identity, password }
    await expectCode(user.api.call('POST', '/user/identity/link', { body }), 'invalid_parameter')
    await link(user.id, identity)
    await link((await api.newSession()).id, other)
    await expectCode(unlinkAs(user, identity), 'invalid_parameter')
    await expectCode(unlinkAs(user, { ...identity, password: 'wrong' }), 'password_incorrect')
    await expectCode(unlinkAs(user, { ...other, password }), 'identity_not_found')
    await expectCode(unlinkAs(user, body), 'ok')
    expect(await identitiesOf(user.id)).toEqual([])
    expect((await changesOf(user)).at(-1)).toMatchObject({ actor: user.id })
  })

  it('stay as the last one of a user without a password, also when all are unlinked at once', async () => {
    const identity = newSubject()
    const { user_id: id } = (await issued({ ...identity, create: {} })).data
    await expectCode(unlink(id, identity), 'last_identity')
    const all = [identity, newSubject(), newSubject()]
    for (const each of all) await link(id, each)
    const answers = await Promise.all(all.map((each) => unlink(id, each)))
    expect(answers.filter(({ code }) => code === answerCode.last_identity)).toHaveLength(1)
    expect(await identitiesOf(id)).toHaveLength(1)
    const [last] = await identitiesOf(id)
    await api
      .admin({ userId: id })
      .succeed('POST', '/user/change_password_admin', { body: { password } })
    await expectCode(unlink(id, last as object), 'ok')
  })

  it('come with an event from the first token on, whose texts go with the user', async () => {
    const identity = { issuer: 'app of the marker', subject: 'person of the marker' }
    const { user_id: id } = (await issued({ ...identity, create: {} })).data
    expect(await changesOf({ id })).toMatchObject([{ kind: 'user.identity_linked', actor: 0 }])
    await api.admin({ userId: id }).succeed('POST', '/user/delete')
    const saysMarker = async () =>
      (await server.sql.run("select payload from outbox where payload like '%of the marker%'"))
        .length > 0
    await waitFor(async () => !(await saysMarker()), { what: 'the erasure', timeoutMs: 10_000 })
  })
})
