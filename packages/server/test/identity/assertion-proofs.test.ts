/** Assertions that users give beside their token: to link them, and as a proof (rule C10a). */
import { type Api, sharedPassword as password, testBackends } from '@hermod/testkit'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

describe.each(testBackends())('assertions of users on $name', (backend) => {
  const server = ownServer(backend)
  const { newIssuer, assertionOf, exchanged, list, call } = issuerCalls(server)
  const { identitiesOf, link, revoke } = backendCalls(() => api.admin())
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  afterEach(async () => {
    server.clock.set(Date.now())
    for (const { issuer } of await list()) await call('remove', { issuer })
  })

  /** A user without a password, who has come with an assertion. */
  async function asserted() {
    const issuer = await newIssuer({ create: 'first_login' })
    const { subject } = newSubject(issuer)
    const { data } = await exchanged(assertionOf(issuer, subject))
    const own = api.as(data.token)
    return {
      id: data.user_id,
      issuer,
      subject,
      fresh: () => assertionOf(issuer, subject),
      link: (body: object) => own.call('POST', '/user/identity/link', { body }),
      unlink: (body: object) => own.call('POST', '/user/identity/unlink', { body }),
      remove: (body: object) => own.call('POST', '/user/delete', { body }),
    }
  }

  it('a user with a password links an assertion with it', async () => {
    const issuer = await newIssuer()
    const user = await api.newSession()
    const post = (body: object) => user.api.call('POST', '/user/identity/link', { body })
    const assertion = assertionOf(issuer, 'mine')
    await expectCode(post({ assertion }), 'invalid_parameter')
    await expectCode(post({ assertion, proof: assertion }), 'invalid_parameter')
    await expectCode(post({ assertion, password: 'wrong' }), 'password_incorrect')
    await expectCode(post({ assertion: `${assertion}A`, password }), 'assertion_refused')
    await expectCode(post({ issuer, subject: 'mine', password }), 'invalid_parameter')
    await expectCode(post({ issuer, subject: 'mine', assertion, password }), 'invalid_parameter')
    await expectCode(post({ assertion, password }), 'ok')
    await expectCode(post({ assertion, password }), 'ok')
    expect(await identitiesOf(user.id)).toEqual([{ issuer, subject: 'mine' }])
    expect((await exchanged(assertion)).data.user_id).toBe(user.id)
  })

  it('an Admin token links an assertion without a proof', async () => {
    const issuer = await newIssuer()
    const { id } = await api.newSession()
    await expectCode(link(id, { assertion: assertionOf(issuer, 'theirs') }), 'ok')
    expect(await identitiesOf(id)).toEqual([{ issuer, subject: 'theirs' }])
  })

  it('a user without a password links with a fresh assertion of an identity that is linked', async () => {
    const user = await asserted()
    const other = await asserted()
    const issuer = await newIssuer()
    const assertion = assertionOf(issuer, 'second')
    await expectCode(user.link({ assertion }), 'invalid_parameter')
    await expectCode(user.link({ assertion, password }), 'password_incorrect')
    await expectCode(user.link({ assertion, proof: assertion }), 'assertion_refused')
    await expectCode(user.link({ assertion, proof: other.fresh() }), 'assertion_refused')
    await expectCode(
      user.link({ assertion: other.fresh(), proof: user.fresh() }),
      'user_already_bound',
    )
    await expectCode(user.link({ assertion, proof: user.fresh() }), 'ok')
    expect(await identitiesOf(user.id)).toHaveLength(2)
    const first = { issuer: user.issuer, subject: user.subject }
    await expectCode(user.unlink(first), 'invalid_parameter')
    await expectCode(user.unlink({ ...first, proof: other.fresh() }), 'assertion_refused')
    await expectCode(user.unlink({ ...first, proof: assertion }), 'ok')
    await expectCode(user.unlink({ issuer, subject: 'second', proof: assertion }), 'last_identity')
  })

  it('a user without a password deletes the account with a fresh assertion of an own identity', async () => {
    const user = await asserted()
    const other = await asserted()
    await expectCode(user.remove({}), 'invalid_parameter')
    await expectCode(user.remove({ password }), 'password_incorrect')
    await expectCode(user.remove({ assertion: 'a.b.c' }), 'assertion_refused')
    await expectCode(user.remove({ assertion: other.fresh() }), 'assertion_refused')
    expect(server.output()).toContain('"reason":"wrong_user"')
    const before = user.fresh()
    await expectCode(user.remove({ assertion: before }), 'ok')
    expect((await exchanged(before)).created).toBe(true)
  })

  it('an assertion from before a revocation proves nothing', async () => {
    const user = await asserted()
    const before = user.fresh()
    await expectCode(revoke({ user_id: user.id }), 'ok')
    server.clock.set(server.clock.now() + 2_000)
    const own = api.as((await exchanged(user.fresh())).data.token)
    const remove = (assertion: string) => own.call('POST', '/user/delete', { body: { assertion } })
    await expectCode(remove(before), 'assertion_refused')
    await expectCode(remove(user.fresh()), 'ok')
  })

  it('a user with a password needs it, also with an identity', async () => {
    const issuer = await newIssuer()
    const user = await api.newSession()
    await expectCode(link(user.id, { issuer, subject: 'with password' }), 'ok')
    const body = { assertion: assertionOf(issuer, 'with password') }
    await expectCode(user.api.call('POST', '/user/delete', { body }), 'invalid_parameter')
    await expectCode(user.api.call('POST', '/user/delete', { body: { password } }), 'ok')
  })
})
