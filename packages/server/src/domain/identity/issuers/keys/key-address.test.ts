/** Key servers with TLS on the loopback address, good and bad ones. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { TestAuthority } from '@hermod/push-simulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testKeys as keys, publicJwk } from '../../../../../test/support/assertions/builder.js'
import { KeyedSlots } from '../../../../lib/concurrency/slots.js'
import { parseAddressRange } from '../../../../lib/outbound/address.js'
import type { ConnectSocket } from '../../../../lib/outbound/connecting.js'
import { OutboundClient } from '../../../../lib/outbound/outbound-client.js'
import { fetchKeys, type KeyAddress } from './key-address.js'

const authority = new TestAuthority()
const jwk = publicJwk(keys.rsa, { kid: 'rsa' })
const json = JSON.stringify({ keys: [jwk] })
const issuer = 'https://issuer.example'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown
const text = (body: string, status = 200): Answer => {
  return (response) => response.writeHead(status).end(body)
}
/** Answers by path. */
const answers: Record<string, Answer> = {
  '/jwks': text(json),
  '/words': text(json.replace('{', '{\n  ')),
  '/empty': text(''),
  '/html': text('<html>not found</html>'),
  '/list': text('[]'),
  '/no-keys': text('{"key":[]}'),
  '/texts': text('{"keys":["text"]}'),
  '/twice': text(`{"keys":[],${json.slice(1)}`),
  '/error': text(json, 500),
  '/created': text(json, 201),
  '/redirect': (response) => response.writeHead(302, { location: '/jwks' }).end(),
  '/huge': text(`{"pad":"${'x'.repeat(65_536)}",${json.slice(1)}`),
  '/endless': (response) => response.write(' '.repeat(100)),
  '/silent': () => {},
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': 1_000 }).write(json.slice(0, 10))
    response.destroy()
  },
}
const server = createServer(authority.server(), (request, response) => {
  ;(answers[request.url ?? ''] ?? text('', 404))(response, request)
})
const trusting: ConnectSocket = async ({ address, port, servername }) => {
  const socket = connectTls({ host: address, port, servername: servername ?? '', ca: authority.ca })
  await once(socket, 'secureConnect')
  return socket
}
const clientOf = (allow: readonly string[], connect?: ConnectSocket) =>
  new OutboundClient({
    allowed: allow.map(parseAddressRange),
    setting: 'HERMOD_OUTBOUND_ALLOW',
    proxy: null,
    lookUpShares: new KeyedSlots(() => ({ parallel: 4, maxWaiting: 9, full: () => new Error() })),
    ...(connect ? { connect } : {}),
  })
const client = clientOf(['127.0.0.1'], trusting)
let base = ''

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const document = (more: object) => text(JSON.stringify({ issuer, ...more }))
  answers['/discovery'] = document({ jwks_uri: `${base}/jwks`, scopes_supported: ['openid'] })
  answers['/other-issuer'] = document({ issuer: `${issuer}/`, jwks_uri: `${base}/jwks` })
  answers['/no-address'] = document({})
  answers['/plain-address'] = document({ jwks_uri: base.replace('https', 'http') })
  answers['/private-address'] = document({ jwks_uri: 'https://10.1.2.3/jwks' })
})

afterAll(async () => {
  await client[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
})

const fetchWith = (from: OutboundClient, address: KeyAddress, timeoutMs = 5_000) =>
  fetchKeys(address, (url) => from.get({ url, headers: {}, timeoutMs, share: 'app' }))
const fetched = (path: string, timeoutMs?: number) =>
  fetchWith(client, { jwksUrl: base + path }, timeoutMs)
const discovered = (path: string) => fetchWith(client, { discovery: base + path, issuer })

describe('a key server', () => {
  it('gives its keys, by their address and by discovery', async () => {
    for (const found of [
      await fetched('/jwks'),
      await fetched('/words'),
      await discovered('/discovery'),
    ])
      expect(found).toEqual({ keys: [jwk] })
  })

  it.each([
    ['/empty', 'answered no JSON object'],
    ['/html', 'answered no JSON object'],
    ['/list', 'answered no JSON object'],
    ['/twice', 'answered no JSON object'],
    ['/no-keys', 'answered no set of keys'],
    ['/texts', 'answered no set of keys'],
    ['/error', 'answered 500, not 200'],
    ['/created', 'answered 201, not 200'],
    ['/missing', 'answered 404, not 200'],
    ['/redirect', 'answered 302, not 200'],
    ['/huge', 'answered more than 64 KiB, or too slowly'],
    ['/endless', 'answered more than 64 KiB, or too slowly'],
  ])('%s is refused', async (path, reason) => {
    await expect(fetched(path)).rejects.toThrow(`${base}${path} ${reason}`)
  })

  it('that breaks off is refused', async () => {
    await expect(fetched('/cut')).rejects.toThrow()
  })

  it('that does not answer is given up', async () => {
    await expect(fetched('/silent', 100)).rejects.toThrow('no answer within 100 ms')
  })

  it.each([
    ['/other-issuer', 'is the document of another issuer'],
    ['/no-address', 'has no jwks_uri that is an https address'],
    ['/plain-address', 'has no jwks_uri that is an https address'],
    ['/private-address', '10.1.2.3 is no public address'],
  ])('by discovery at %s is refused', async (path, reason) => {
    await expect(discovered(path)).rejects.toThrow(reason)
  })

  it('at a private address is refused unless it is allowed', async () => {
    const strict = clientOf([], trusting)
    await expect(fetchWith(strict, { jwksUrl: `${base}/jwks` })).rejects.toThrow(
      '127.0.0.1 is no public address (loopback); HERMOD_OUTBOUND_ALLOW can allow it',
    )
  })

  it('with a certificate of an unknown authority is refused', async () => {
    const suspicious = clientOf(['127.0.0.1'])
    await expect(fetchWith(suspicious, { jwksUrl: `${base}/jwks` })).rejects.toThrow(/certificate/)
    await suspicious[Symbol.asyncDispose]()
  })
})
