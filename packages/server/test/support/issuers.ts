/** Issuers of assertions, as an operator sets them, and the exchanges of their assertions. */
import type { Answer, Envelope, Json, TokenData } from '@hermod/testkit'
import { buildAssertion, hmacSigner, sharedSecret } from './assertions/builder.js'
import type { InProcessServer } from './in-process-server.js'

let issuers = 0

export function issuerCalls(server: InProcessServer) {
  const operator = () => server.api.as(server.operatorToken)
  const call = (path: string, body: object): Promise<Answer> =>
    operator().call('POST', `/operator/v1/identity/${path}`, {
      body: { app_id: server.appId, ...body },
    })
  const succeed = async (path: string, body: object): Promise<Json> =>
    (
      await operator().succeed('POST', `/operator/v1/identity/${path}`, {
        body: { app_id: server.appId, ...body },
      })
    ).data
  /** An assertion of now, signed with the shared secret. */
  const assertionOf = (issuer: string, sub: unknown, more: object = {}): string => {
    const iat = Math.floor(server.clock.now() / 1000)
    return buildAssertion({
      header: { alg: 'HS256', typ: 'JWT' },
      payload: { iss: issuer, sub, iat, exp: iat + 300, ...more },
      signer: hmacSigner(sharedSecret),
    })
  }
  const exchange = (assertion: string, more: object = {}): Promise<Answer<TokenData>> =>
    server.api.call('POST', '/token/exchange', { body: { assertion, ...more } })
  return {
    call,
    set: (body: object) => succeed('set', body),
    list: async (): Promise<Json[]> =>
      (
        await operator().succeed('GET', '/operator/v1/identity/list', {
          query: { app_id: server.appId },
        })
      ).data,
    test: (assertion: string) => succeed('test', { assertion }),
    /** Sets an issuer with the shared secret, whose name no other test of this process uses. */
    newIssuer: async (settings: object = {}): Promise<string> => {
      const issuer = `issuer-${++issuers}`
      await succeed('set', { issuer, hmac_secret: sharedSecret, ...settings })
      return issuer
    },
    assertionOf,
    exchange,
    /** Exchanges an assertion, which must succeed. */
    exchanged: async (assertion: string, more: object = {}): Promise<Envelope<TokenData>> =>
      server.api.succeed('POST', '/token/exchange', { body: { assertion, ...more } }),
  }
}
