/** The operations and commands on issuers of assertions (rule C10). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { anyBackend, type Json, TempFolder, testBackends } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type CommandDependencies, runProgram } from '../../dist/commands/program.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  buildAssertion,
  testKeys as keys,
  publicJwk,
  rsaHeader,
  sharedSecret,
  type TestKey,
} from '../support/assertions/builder.js'
import { ownServer } from '../support/in-process-server.js'
import { issuerCalls } from '../support/issuers.js'
import { integrityFaults } from '../support/messaging/messaging.js'

const audience = ['app']
const pemOf = ({ publicKey }: TestKey) => String(publicKey.export({ type: 'spki', format: 'pem' }))
const privatePem = String(keys.rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }))
const jwks = (...of: object[]) => ({ jwks: { keys: of }, audience })
const privateJwk = keys.ec.privateKey.export({ format: 'jwk' })

/** Refused settings, with the beginning of the error. */
const badSettings: Readonly<Record<string, readonly [error: string, settings: object]>> = {
  'no source of keys': [
    'discovery, jwks_url, jwks, pem, hmac_secret: exactly one must be given',
    { audience },
  ],
  'two sources of keys': [
    'discovery, jwks_url, jwks, pem, hmac_secret: exactly one must be given',
    { jwks_url: 'https://a.example/', pem: 'x', audience },
  ],
  'a secret beside keys': [
    'discovery, jwks_url, jwks, pem, hmac_secret: exactly one must be given',
    { pem: pemOf(keys.rsa), hmac_secret: sharedSecret },
  ],
  'an address without TLS': [
    'jwks_url must be an https address',
    { jwks_url: 'http://a.example/jwks', audience },
  ],
  'an address with a user name': [
    'jwks_url must have no user name',
    { jwks_url: 'https://u:p@a.example/', audience },
  ],
  'a private address': [
    'discovery is no public address',
    { discovery: 'https://10.0.0.1/', audience },
  ],
  'a loopback name': [
    'jwks_url leads to no public',
    { jwks_url: 'https://localhost/jwks', audience },
  ],
  'a short secret': ['hmac_secret must have at least 32 bytes', { hmac_secret: 'x'.repeat(31) }],
  'a short previous secret': [
    'previous_hmac_secret must have at least',
    { hmac_secret: sharedSecret, previous_hmac_secret: 'x' },
  ],
  'a previous secret alone': [
    'previous_hmac_secret must come with',
    { pem: pemOf(keys.rsa), previous_hmac_secret: sharedSecret, audience },
  ],
  'a public key as the secret': [
    'hmac_secret must be a secret of your backend',
    { hmac_secret: pemOf(keys.rsa) },
  ],
  'algorithms with a secret': [
    'algorithms must be absent',
    { hmac_secret: sharedSecret, algorithms: ['RS256'] },
  ],
  'HS256 with keys': ['algorithms', { pem: pemOf(keys.rsa), algorithms: ['HS256'], audience }],
  'the algorithm none': ['algorithms', { pem: pemOf(keys.rsa), algorithms: ['none'], audience }],
  'no audience': ['audience must have 1 to 10', { pem: pemOf(keys.rsa) }],
  'an empty audience': ['audience must have 1 to 10', { pem: pemOf(keys.rsa), audience: [] }],
  '11 audiences': [
    'audience',
    { pem: pemOf(keys.rsa), audience: Array.from({ length: 11 }, String) },
  ],
  'a private key in PEM': ['pem must have public keys only', { pem: privatePem, audience }],
  'a private key beside a public one': [
    'pem must have public keys only',
    { pem: pemOf(keys.rsa) + privatePem, audience },
  ],
  'no PEM': ['pem must have a public key', { pem: 'key', audience }],
  'a broken PEM': [
    'pem must have public keys or certificates',
    { pem: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', audience },
  ],
  'a weak key': [
    'pem must have RSA keys of at least 2048 bits',
    { pem: pemOf(keys.weakRsa), audience },
  ],
  'a key with the exponent 1': [
    'jwks must have RSA keys of at least 2048 bits, with an odd exponent from 3',
    jwks(publicJwk(keys.rsa, { e: 'AQ' })),
  ],
  'a key with an even exponent': [
    'jwks must have RSA keys of at least 2048 bits, with an odd exponent from 3',
    jwks(publicJwk(keys.rsa, { e: 'AQAA' })),
  ],
  'a key of another curve': ['pem must have a key for RS256', { pem: pemOf(keys.ec384), audience }],
  'a key of another algorithm': [
    'pem must have a key for ES256',
    { pem: pemOf(keys.rsa), algorithms: ['ES256'], audience },
  ],
  'two keys of an algorithm without kid': [
    'pem must have a different kid for each key',
    { pem: pemOf(keys.rsa) + pemOf(keys.otherRsa), audience },
  ],
  'two keys of an algorithm with one kid': [
    'jwks must have a different kid for each key',
    jwks(publicJwk(keys.rsa, { kid: 'a' }), publicJwk(keys.otherRsa, { kid: 'a', alg: 'PS256' })),
  ],
  'a key for encryption': [
    'jwks must have a key for RS256',
    jwks(publicJwk(keys.rsa, { use: 'enc' })),
  ],
  'a key for other operations': [
    'jwks must have a key for RS256',
    jwks(publicJwk(keys.rsa, { key_ops: ['encrypt'] })),
  ],
  'a key of an algorithm that is not accepted': [
    'jwks must have a key for RS256',
    jwks(publicJwk(keys.rsa, { alg: 'RS512' })),
  ],
  'a kid that is no text': [
    'jwks must have keys that can be read',
    jwks(publicJwk(keys.rsa, { kid: 7 })),
  ],
  'a long set': [
    'jwks must have at most 65536',
    jwks(publicJwk(keys.rsa, { pad: 'x'.repeat(65_536) })),
  ],
  'a private key that does not end': [
    'pem must have public keys only',
    { pem: pemOf(keys.rsa) + privatePem.slice(0, 500), audience },
  ],
  'a set without keys': ['jwks must have 1 to 20 keys', jwks()],
  'no set': ['jwks must be a JWK set', { jwks: { key: [] }, audience }],
  'a private key in a set': ['jwks must have public keys only', jwks(privateJwk)],
  'a shared secret in a set': [
    'jwks must have public keys only',
    jwks({ kty: 'oct', k: 'c2VjcmV0' }),
  ],
  'a key that cannot be read': [
    'jwks must have keys that can be read',
    jwks({ kty: 'RSA', n: 'x' }),
  ],
  'a long age': ['max_age', { hmac_secret: sharedSecret, max_age: 86_401 }],
  'an unknown creation': ['create', { hmac_secret: sharedSecret, create: 'always' }],
  'a control character in the name': ['issuer', { issuer: 'a\nb', hmac_secret: sharedSecret }],
}

describe.each(testBackends())('issuers on $name', (backend) => {
  const server = ownServer(backend)
  const { call, set, list, newIssuer, assertionOf, exchange, exchanged, test } = issuerCalls(server)
  /** Checks of input do not depend on the database. */
  const isFirst = anyBackend().some(({ name }) => name === backend.name)

  afterEach(async () => {
    for (const { issuer } of await list()) await call('remove', { issuer })
  })

  const stored = async () => JSON.stringify(await server.sql.run('select * from identity_issuers'))

  if (isFirst) {
    it.each(Object.entries(badSettings))(
      '%s is refused, naming the field',
      async (_, [error, settings]) => {
        const answer = await call('set', { issuer: 'refused', ...settings })
        expect([answer.code, answer.envelope.message]).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining(`: ${error}`),
        ])
        expect(await list()).toEqual([])
      },
    )

    it.each([
      ['RS256', 'PEM', { pem: pemOf(keys.rsa) }, rsaHeader],
      ['RS256', 'a JWK set', { jwks: { keys: [publicJwk(keys.rsa, { kid: 'rsa' })] } }, rsaHeader],
      ['RS256', 'two keys in PEM', { pem: pemOf(keys.ec) + pemOf(keys.rsa) }, { alg: 'RS256' }],
    ])('%s with %s is accepted', async (_, __, source, header) => {
      await set({ issuer: 'inline', audience, create: 'first_login', ...source })
      const iat = Math.floor(server.clock.now() / 1000)
      const payload = { iss: 'inline', aud: 'app', sub: 'inline', iat, exp: iat + 60 }
      expect((await exchange(buildAssertion({ header, payload }))).code).toBe(200)
    })
  }

  it('set replaces all settings, and neither list nor the database shows a secret', async () => {
    const issuer = await newIssuer({
      previous_hmac_secret: `previous ${sharedSecret}`,
      max_age: 60,
      username_claim: 'name',
    })
    expect(await list()).toMatchObject([
      {
        issuer,
        source: 'hmac_secret',
        algorithms: ['HS256'],
        has_previous_secret: true,
        max_age: 60,
      },
    ])
    expect(JSON.stringify(await list()) + (await stored())).not.toContain(sharedSecret)
    await set({ issuer, hmac_secret: sharedSecret })
    expect(await list()).toMatchObject([
      { issuer, has_previous_secret: false, max_age: 600, username_claim: '' },
    ])
  })

  it('an application has at most 10, and settings of a known one can still change', async () => {
    for (let number = 0; number < 10; number++)
      await set({ issuer: `i${number}`, hmac_secret: sharedSecret })
    await expectCode(
      call('set', { issuer: 'more', hmac_secret: sharedSecret }),
      'issuer_limit_reached',
    )
    await set({ issuer: 'i9', hmac_secret: sharedSecret, max_age: 5 })
    expect((await list()).map(({ issuer }: Json) => issuer)).toEqual(
      Array.from({ length: 10 }, (_, number) => `i${number}`),
    )
  })

  it('rename moves settings, the sealed secret and identities', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const { data } = await exchanged(assertionOf(issuer, '1'))
    const name = `${issuer} renamed`
    expect((await call('rename', { issuer, new_issuer: name })).code).toBe(200)
    expect((await exchange(assertionOf(issuer, '1'))).code).toBe(answerCode.assertion_refused)
    const again = await exchanged(assertionOf(name, '1'))
    expect([again.data.user_id, again.created]).toEqual([data.user_id, false])
    await set({ issuer, hmac_secret: sharedSecret })
    await expectCode(call('rename', { issuer, new_issuer: name }), 'issuer_exists')
    await call('remove', { issuer: name })
    await expectCode(call('rename', { issuer, new_issuer: name }), 'issuer_exists')
    await expectCode(call('rename', { issuer: 'nowhere', new_issuer: 'x' }), 'issuer_not_found')
    await expectCode(call('remove', { issuer: 'nowhere' }), 'issuer_not_found')
    // Identities without settings move too.
    expect((await call('rename', { issuer: name, new_issuer: `${name} twice` })).code).toBe(200)
  })

  it('secrets are encrypted again by a rotation, and a check finds one of another row', async () => {
    const issuer = await newIssuer({ create: 'first_login' })
    const before = await stored()
    const operator = server.api.as(server.operatorToken)
    await operator.succeed('POST', '/operator/v1/secret/rotate', { body: {} })
    await operator.succeed('POST', '/operator/v1/secret/retire', { body: {} })
    expect(await stored()).not.toBe(before)
    const assertion = assertionOf(issuer, '1')
    expect((await exchange(assertion)).code).toBe(200)
    const other = await newIssuer()
    await server.sql.run(
      `update identity_issuers set sealed = (select sealed from identity_issuers where issuer = '${other}') where issuer = '${issuer}'`,
    )
    expect(JSON.stringify(await integrityFaults(server))).toContain(
      `identity_issuers.sealed of ${server.appId}/${issuer}`,
    )
    // The cache of the issuers, which the change above does not reach, is a second old at most.
    await expect
      .poll(async () => (await test(assertionOf(issuer, '1'))).text, { timeout: 5_000 })
      .toBe('the keys of the issuer are not available: no key decrypts the secret')
    const unreadable = await stored()
    const renamed = await call('rename', { issuer, new_issuer: `${issuer} renamed` })
    expect([renamed.code, renamed.envelope.message]).toEqual([
      answerCode.invalid_parameter,
      expect.stringContaining('issuer has a secret that no key decrypts'),
    ])
    expect(await stored()).toBe(unreadable)
  })
})

describe.each(anyBackend())('hermod identity on $name', (backend) => {
  const server = ownServer(backend)
  const { assertionOf } = issuerCalls(server)
  let folder: TempFolder

  beforeAll(() => {
    folder = new TempFolder('identity-command')
  })

  afterAll(() => folder?.[Symbol.dispose]())

  async function run(line: string, input = '') {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const dependencies = {
      version: '1.2.3',
      // Without the settings that are undefined.
      env: JSON.parse(JSON.stringify(server.settings)),
      stdin: Readable.from([Buffer.from(input)]),
      stdout,
      stderr,
      now: () => server.clock.now(),
      local: () => Promise.reject(new Error('the server does not run')),
    } as unknown as CommandDependencies
    const args = ['identity', ...line.split(' '), '--app', server.appId]
    const code = await runProgram(dependencies, args)
    stdout.end()
    stderr.end()
    return { code, out: await textOf(stdout), err: await textOf(stderr) }
  }

  it('sets an issuer with the secret of a file, tests, lists, renames and removes it', async () => {
    const secretFile = join(folder.path, 'secret')
    writeFileSync(secretFile, `${sharedSecret}\n`)
    const set = await run(
      `set shop --secret-file ${secretFile} --create first_login --nick-name-claim name`,
    )
    expect(set).toMatchObject({ code: 0, err: '' })
    expect(set.out).toMatch(/^algorithms +HS256$/m)
    expect(set.out).toMatch(/^keys +-$/m)
    expect(set.out).toMatch(/^nick_name_claim +name$/m)
    expect(set.out).not.toContain(sharedSecret)
    const tested = await run(
      'test --assertion-file -',
      `${assertionOf('shop', '7', { name: 'Ann' })}\n`,
    )
    expect(tested).toMatchObject({ code: 0, err: '' })
    expect(tested.out).toMatch(/^text +a user would be made and get a token$/m)
    expect(tested.out).toMatch(/^user_id +-$/m)
    expect(tested.out).toMatch(/^expires_at +2\d{3}-/m)
    const refused = await run('test --assertion-file -', assertionOf('shop', ''))
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('invalid_subject: the subject must be a text of 1 to 255 bytes')
    expect(refused.err).toContain('sub is ""')
    expect(refused.out).not.toContain('subject must be')
    expect((await run('list')).out).toMatch(/^shop +hmac_secret/m)
    expect((await run('rename shop store')).out).toBe('shop of test is store from now on.\n')
    expect((await run('remove store')).out).toBe('store of test is removed.\n')
    expect((await run('list')).out).toBe('test has no issuers.\n')
  })

  it('sets an issuer with keys in PEM, and names options in failures', async () => {
    const set = await run(
      'set idp --pem-file - --audience app,web --algorithms ES256',
      pemOf(keys.ec),
    )
    expect(set).toMatchObject({ code: 0, err: '' })
    expect(set.out).toMatch(/^keys +1$/m)
    expect((await run('set idp --pem-file -', privatePem)).err).toContain(
      '--audience must have 1 to 10',
    )
    expect((await run('set idp --audience app')).err).toContain(
      '--discovery, --jwks-url, --jwks-file, --pem-file, --secret-file: exactly one must be given',
    )
    expect((await run('set idp --audience app --pem-file -', privatePem)).err).toContain(
      '--pem-file must have public keys only',
    )
  })
})
