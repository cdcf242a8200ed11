/** Revocations of assertions from an issuer whose clock is ahead, on both databases (rule C9). */
import { type Api, testBackends } from '@hermod/testkit'
import { beforeAll, describe, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

/** Within the tolerance. */
const aheadSeconds = 50

describe.each(testBackends())('assertions from the future on $name', (backend) => {
  const server = ownServer(backend)
  const { newIssuer, assertionOf, exchange, exchanged } = issuerCalls(server)
  const { revoke } = backendCalls(() => api.admin())
  let api: Api
  let issuer: string

  beforeAll(async () => {
    api = server.api
    issuer = await newIssuer({ create: 'first_login' })
  })

  const ahead = (subject: string, seconds = aheadSeconds) =>
    assertionOf(issuer, subject, { iat: Math.floor(server.clock.now() / 1000) + seconds })
  const setEnabled = (id: number, change: 'disable' | 'enable') =>
    api.admin().succeed('PUT', `/user/${change}`, { body: { list: [id] } })

  const ends: [string, (id: number) => Promise<unknown>][] = [
    ['a revocation', (id) => revoke({ user_id: id })],
    ['a revocation of one device', (id) => revoke({ user_id: id, device_sn: 1 })],
    [
      'disabling and enabling',
      async (id) => {
        await setEnabled(id, 'disable')
        await setEnabled(id, 'enable')
      },
    ],
    [
      'a password of an administrator',
      (userId) =>
        api
          .admin({ userId })
          .succeed('POST', '/user/change_password_admin', { body: { password: 'new words' } }),
    ],
    ['a kick of all devices', (userId) => api.admin({ userId }).succeed('POST', '/user/kick')],
  ]

  it.each(ends)('are refused after %s, when they were accepted before', async (_, end) => {
    const { subject } = newSubject(issuer)
    const first = ahead(subject)
    const earlier = ahead(subject, aheadSeconds - 20)
    const { data } = await exchanged(first, { device_guid: 'phone' })
    await exchanged(earlier)
    await end(data.user_id)
    await expectCode(exchange(first), 'assertion_refused')
    await expectCode(exchange(earlier), 'assertion_refused')
    await expectCode(exchange(ahead(subject, aheadSeconds + 1)), 'ok')
  })

  it('are refused by a revocation after exchanges at once', async () => {
    for (let round = 0; round < 3; round++) {
      const { subject } = newSubject(issuer)
      const { user_id } = (await exchanged(assertionOf(issuer, subject))).data
      const assertions = [10, 50, 30].map((seconds) => ahead(subject, seconds))
      await Promise.all([
        ...assertions.map((assertion) => exchange(assertion)),
        revoke({ user_id }),
        ...assertions.map((assertion) => exchange(assertion)),
      ])
      const accepted: string[] = []
      for (const assertion of assertions)
        if ((await exchange(assertion)).code === answerCode.ok) accepted.push(assertion)
      await expectCode(revoke({ user_id }), 'ok')
      for (const assertion of accepted) await expectCode(exchange(assertion), 'assertion_refused')
    }
  })
})
