/** Exchanges with keys that the service fetches over https. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TestAuthority } from '@hermod/push-simulator'
import { anyBackend } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  buildAssertion,
  publicJwk,
  rsaHeader,
  signers,
  type TestKey,
  testKeys as keys,
} from '../support/assertions/builder.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

const settings = { audience: ['app'], create: 'first_login' }

describe.each(anyBackend())('key servers on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
  const { set, exchange, test } = issuerCalls(server)
  let served: object[] = [publicJwk(keys.rsa, { kid: 'old' })]
  let fetches = 0
  let base = ''
  const keyServer = createServer(new TestAuthority().server(), (request, response) => {
    if (request.url === '/keys') fetches++
    const document = { issuer: 'discovered', jwks_uri: `${base}/keys` }
    response.end(JSON.stringify(request.url === '/keys' ? { keys: served } : document))
  })

  beforeAll(async () => {
    keyServer.listen(0, '127.0.0.1')
    await once(keyServer, 'listening')
    base = `https://127.0.0.1:${(keyServer.address() as AddressInfo).port}`
  })

  afterEach(() => {
    vi.unstubAllEnvs()
    server.clock.set(Date.now())
  })

  afterAll(() => {
    keyServer.closeAllConnections()
    keyServer.close()
  })

  /** Trusts the certificate of the key server. */
  const trust = () => vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')

  function assertionOf(iss: string, kid: string, key: TestKey): string {
    const iat = Math.floor(server.clock.now() / 1000)
    const payload = { iss, aud: 'app', sub: '1', iat, exp: iat + 60 }
    return buildAssertion({ header: { ...rsaHeader, kid }, payload, signer: signers.RS256(key) })
  }

  it('test and log say why keys cannot be fetched', async () => {
    await set({ issuer: 'untrusted', jwks_url: `${base}/keys`, ...settings })
    const assertion = assertionOf('untrusted', 'old', keys.rsa)
    expect((await exchange(assertion)).code).toBe(answerCode.assertion_refused)
    const tested = await test(assertion)
    expect(tested).toMatchObject({ ok: false, reason: 'no_keys' })
    expect(tested.text).toMatch(/^the keys of the issuer are not available: .*certificate/)
    expect(server.output()).toContain('the keys of an issuer cannot be fetched')
  })

  it('keys by discovery are fetched once, and a new one when 30 s have passed', async () => {
    trust()
    fetches = 0
    await set({ issuer: 'discovered', discovery: `${base}/discovery`, ...settings })
    const old = () => exchange(assertionOf('discovered', 'old', keys.rsa))
    const codes = (await Promise.all(Array.from({ length: 20 }, old))).map(({ code }) => code)
    expect([new Set(codes), fetches]).toEqual([new Set([200]), 1])
    served = [publicJwk(keys.otherRsa, { kid: 'new' })]
    const renewed = () => exchange(assertionOf('discovered', 'new', keys.otherRsa))
    expect((await renewed()).code).toBe(answerCode.assertion_refused)
    server.clock.set(server.clock.now() + 31_000)
    expect((await renewed()).code).toBe(200)
    expect((await old()).code).toBe(answerCode.assertion_refused)
    expect(fetches).toBe(2)
  })
})
