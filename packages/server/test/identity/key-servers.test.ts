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
  testKeys as keys,
  publicJwk,
  rsaHeader,
  signers,
  type TestKey,
} from '../support/assertions/builder.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'

const settings = { audience: ['app'], create: 'first_login' }

describe.each(anyBackend())('key servers on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
  const { call, set, exchange, test } = issuerCalls(server)
  let served: object[] = [publicJwk(keys.rsa, { kid: 'old' })]
  let fetches = 0
  let base = ''
  /** The server answers after it. */
  let pause = Promise.resolve()
  const keyServer = createServer(new TestAuthority().server(), async (request, response) => {
    if (request.url === '/keys') fetches++
    await pause
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

  it.each<[string, (issuer: string, settings: object) => Promise<unknown>]>([
    ['set again', (issuer, more) => set({ issuer, ...more })],
    [
      'removed and set again',
      async (issuer, more) => {
        await call('remove', { issuer })
        await set({ issuer, ...more })
      },
    ],
  ])('keys from before do not serve when their issuer is %s', async (name, change) => {
    trust()
    served = [publicJwk(keys.rsa, { kid: 'old' })]
    const source = { jwks_url: `${base}/keys`, ...settings }
    await set({ issuer: name, ...source })
    expect((await exchange(assertionOf(name, 'old', keys.rsa))).code).toBe(200)
    served = [publicJwk(keys.otherRsa, { kid: 'new' })]
    await change(name, source)
    const refused = await exchange(assertionOf(name, 'old', keys.rsa))
    expect(refused.code).toBe(answerCode.assertion_refused)
    expect((await exchange(assertionOf(name, 'new', keys.otherRsa))).code).toBe(200)
  })

  it.each<[string, string, (issuer: string) => Promise<unknown>]>([
    ['removed', 'unknown_issuer', (issuer) => call('remove', { issuer })],
    [
      'changed',
      'wrong_audience',
      (issuer) =>
        set({ issuer, jwks_url: `${base}/keys`, create: 'first_login', audience: ['other'] }),
    ],
  ])(
    'an issuer that is %s while its keys are fetched gives no token',
    async (end, reason, change) => {
      trust()
      served = [publicJwk(keys.rsa, { kid: 'old' })]
      fetches = 0
      let answer = () => {}
      pause = new Promise((resolve) => {
        answer = resolve
      })
      await set({ issuer: end, jwks_url: `${base}/keys`, ...settings })
      const assertion = assertionOf(end, 'old', keys.rsa)
      const exchanged = exchange(assertion)
      await expect.poll(() => fetches).toBe(1)
      await change(end)
      answer()
      expect((await exchanged).code).toBe(answerCode.assertion_refused)
      expect(await test(assertion)).toMatchObject({ ok: false, reason })
    },
  )
})
