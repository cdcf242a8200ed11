/** Assertions as proofs, with a change between their check and the commit (rules C9, C10a). */
import { type Api, type Backend, testBackends, waitFor } from '@hermod/testkit'
import { beforeAll, describe, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { countOfWaiting } from '../support/database/sql.js'
import { newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

const backend = testBackends().find(({ name }) => name === 'postgres')

describe.runIf(backend)('a proof that was checked', () => {
  const server = ownServer(backend as Backend)
  const { newIssuer, assertionOf, exchanged } = issuerCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  it.each([
    ['/user/identity/link', 'a revocation of a device'],
    ['/user/identity/link', 'the end of its identity'],
    ['/user/delete', 'a revocation of a device'],
    ['/user/delete', 'the end of its identity'],
  ] as const)('is refused by %s after %s', async (path, change) => {
    const issuer = await newIssuer({ create: 'first_login' })
    const { subject } = newSubject(issuer)
    const { user_id: id, token } = (await exchanged(assertionOf(issuer, subject))).data
    const proof = assertionOf(issuer, subject)
    const body =
      path === '/user/delete'
        ? { assertion: proof }
        : { assertion: assertionOf(issuer, 'new'), proof }
    await server.sql.run('begin')
    await server.sql.run(`select 1 from users where user_id = ${id} for update`)
    const answer = api.as(token).call('POST', path, { body })
    await waitFor(async () => Number((await server.sql.run(countOfWaiting))[0]?.count) > 0, {
      what: 'the call waits for the user',
      timeoutMs: 10_000,
    })
    await server.sql.run(
      change === 'the end of its identity'
        ? `delete from user_identities where user_id = ${id}`
        : `update users set assertions_after = ${server.clock.now()} where user_id = ${id}`,
    )
    await server.sql.run('commit')
    await expectCode(answer, 'assertion_refused')
  })
})
