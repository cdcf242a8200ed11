/** Hostile assertions with a wrong algorithm, key or signature. */
import { createHash } from 'node:crypto'
import {
  buildAssertion,
  encodePart,
  hmacSigner,
  testKeys as keys,
  publicJwk,
  type Signer,
  sharedSecret,
  signers,
} from './builder.js'
import { claims, from, header, type Row, rowOf, shown, withHeader } from './row.js'

const none: Signer = () => Buffer.alloc(0)

/** A signature that needs no private key: the padded digest, which is its own power by 1. */
const unsignedRsa: Signer = (input) =>
  Buffer.concat([
    Buffer.from(`0001${'ff'.repeat(202)}003031300d060960864801650304020105000420`, 'hex'),
    createHash('sha256').update(input).digest(),
  ])

/** All ways to write a word in small and capital letters. */
function spellings(text: string): string[] {
  const [first, ...rest] = text
  if (first === undefined) return ['']
  const ends = spellings(rest.join(''))
  return [first.toLowerCase(), first.toUpperCase()].flatMap((letter) =>
    ends.map((end) => letter + end),
  )
}

/** Forms of a public key that an attacker may use as a secret. */
function secretsOf({ publicKey }: (typeof keys)['rsa']): (string | Buffer)[] {
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }))
  const jwk = publicKey.export({ format: 'jwk' })
  return [
    pem,
    pem.trim(),
    pem.replaceAll('\n', '\r\n'),
    pem.replaceAll('\n', ''),
    pem.replace(/-----[^-]+-----/g, '').replaceAll('\n', ''),
    publicKey.export({ type: 'spki', format: 'der' }),
    JSON.stringify(jwk),
    JSON.stringify({ keys: [jwk] }),
    String(jwk.n ?? jwk.x),
    Buffer.from(String(jwk.n ?? jwk.x), 'base64url'),
  ]
}

const unsigned: Row[] = spellings('none').flatMap((alg) => [
  rowOf(`alg ${alg} without a signature`, { header: { alg }, signer: none }, 'wrong_algorithm'),
  rowOf(`alg ${alg} with a signature`, { header: header({ alg }) }, 'wrong_algorithm'),
])

const confused: Row[] = [keys.rsa, keys.ec, keys.ed].flatMap((key, index) =>
  secretsOf(key as never).flatMap((secret, form): Row[] => {
    const signed = { header: { alg: 'HS256', typ: 'JWT' }, signer: hmacSigner(secret) }
    const name = `HS256 with the public key ${index} in form ${form}`
    return [
      rowOf(name, signed, 'wrong_algorithm'),
      rowOf(
        `${name} for an issuer with a secret`,
        { ...signed, payload: from('backend') },
        'wrong_signature',
      ),
    ]
  }),
)

const algorithmRows: Row[] = [
  ...withHeader(
    'wrong_algorithm',
    [
      ...[
        'RS384',
        'RS512',
        'PS384',
        'PS512',
        'ES384',
        'ES512',
        'ES256K',
        'HS256',
        'HS384',
        'HS512',
      ],
      ...['Ed25519', 'Ed448', 'ML-DSA-44', 'dir', 'A128KW', 'RSA-OAEP', 'RSA1_5', 'ECDH-ES'],
      ...['rs256', 'Rs256', ' RS256', 'RS256 ', 'RS256\0', 'RS256,none', 'SHA256withRSA', ''],
      ...['constructor', '__proto__', 'toString', 'hasOwnProperty'],
      ...[null, true, 1, 256, ['RS256'], { alg: 'RS256' }, undefined],
    ].map((alg) => ({ alg })),
  ),
  ...['RS256', 'PS256', 'ES256', 'EdDSA', 'HS384', 'HS512', 'none'].map((alg) =>
    rowOf(
      `alg ${alg} for an issuer with a secret`,
      { header: { alg }, payload: from('backend'), signer: hmacSigner(sharedSecret) },
      'wrong_algorithm',
    ),
  ),
  rowOf(
    'HS384 with the secret itself',
    {
      header: { alg: 'HS384' },
      payload: from('backend'),
      signer: hmacSigner(sharedSecret, 'sha384'),
    },
    'wrong_algorithm',
  ),
  ...(['PS256', 'ES256', 'EdDSA'] as const).map((alg) =>
    rowOf(
      `${alg} where RS256 is the only algorithm`,
      {
        header: { alg },
        payload: from('https://rsa.example'),
        signer: signers[alg](alg === 'PS256' ? keys.rsa : alg === 'ES256' ? keys.ec : keys.ed),
      },
      'wrong_algorithm',
    ),
  ),
  // The signature is one of the named algorithm, the key one of another.
  rowOf('RS256 with kid of an EC key', { header: header({ kid: 'ec' }) }, 'unknown_key'),
  rowOf('RS256 with kid of an Ed25519 key', { header: header({ kid: 'ed' }) }, 'unknown_key'),
  rowOf(
    'ES256 with kid of an RSA key',
    { header: header({ alg: 'ES256' }), signer: signers.ES256(keys.ec) },
    'unknown_key',
  ),
  rowOf(
    'EdDSA with kid of an RSA key',
    { header: header({ alg: 'EdDSA' }), signer: signers.EdDSA(keys.ed) },
    'unknown_key',
  ),
  rowOf('PS256 with a signature of RS256', { header: header({ alg: 'PS256' }) }, 'wrong_signature'),
  rowOf('RS256 with a signature of PS256', { signer: signers.PS256(keys.rsa) }, 'wrong_signature'),
]

const kidRows: Row[] = [
  ...withHeader(
    'unknown_key',
    [
      ...[
        'other',
        'RSA',
        'rsa ',
        ' rsa',
        'rsa.',
        '../../../../dev/null',
        '/etc/passwd',
        'file:///dev/null',
      ],
      ...["' or 1=1 --", "x' union select 'key", '$(id)', '|id', 'https://evil.example/jwks.json'],
      ...[
        '__proto__',
        'constructor',
        '0',
        'null',
        'undefined',
        'r\u0073a2',
        'ｒｓａ',
        'k'.repeat(255),
      ],
    ].map((kid) => ({ kid })),
  ),
  ...withHeader(
    'invalid_kid',
    [
      ...[null, true, false, 0, 1, -1, 1.5, [], ['rsa'], {}, { kid: 'rsa' }, ''],
      ...[
        'rsa\0',
        '\0',
        'rsa\n',
        'r\u0085',
        '\u007f',
        'k'.repeat(256),
        'ä'.repeat(128),
        'k'.repeat(4000),
      ],
    ].map((kid) => ({ kid })),
  ),
  rowOf(
    'no kid where several keys fit',
    { header: { alg: 'RS256' }, payload: from('https://several.example') },
    'ambiguous_key',
  ),
  rowOf('kid of two keys', { payload: from('https://twice.example') }, 'ambiguous_key'),
]

const own = publicJwk(keys.otherRsa, { kid: 'mine' })

const keyHeaders: readonly object[] = [
  { jwk: own },
  { jwk: own, kid: 'mine' },
  { jwk: publicJwk(keys.otherRsa) },
  { jku: 'https://evil.example/jwks.json' },
  { jku: 'https://issuer.example@evil.example/jwks.json' },
  { jku: 'http://127.0.0.1:1/jwks.json' },
  { x5u: 'https://evil.example/chain.pem' },
  { x5c: [Buffer.from('certificate').toString('base64')] },
  { x5c: 'certificate', x5t: 'thumbprint', 'x5t#S256': 'thumbprint' },
  { jwk: own, jku: 'https://evil.example', x5u: 'https://evil.example', x5c: [] },
]

const embeddedRows: Row[] = [
  ...keyHeaders.map((more) =>
    rowOf(
      `header ${shown(more)}`,
      { header: header(more), signer: signers.RS256(keys.otherRsa) },
      'kid' in more ? 'unknown_key' : 'wrong_signature',
    ),
  ),
  rowOf(
    'a jwk of the symmetric kind in the header',
    {
      header: { alg: 'HS256', jwk: { kty: 'oct', k: 'c2VjcmV0' } },
      signer: hmacSigner('secret'),
    },
    'wrong_algorithm',
  ),
]

const valid = buildAssertion()

const [validHeader = '', validPayload = '', validSignature = ''] = valid.split('.')

/** The order of the curve P-256. */
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')

const zero = Buffer.alloc(32)

const one = Buffer.concat([Buffer.alloc(31), Buffer.of(1)])

const ecHeader = { alg: 'ES256', kid: 'ec' }

const ecSignature = (name: string, signature: (made: Buffer) => Buffer): Row =>
  rowOf(
    `ES256 with ${name}`,
    { header: ecHeader, signer: signers.ES256(keys.ec), signature },
    'wrong_signature',
  )

const derOf = (made: Buffer): Buffer => {
  const part = (bytes: Buffer) => Buffer.concat([Buffer.of(2, bytes.length + 1, 0), bytes])
  const content = Buffer.concat([part(made.subarray(0, 32)), part(made.subarray(32))])
  return Buffer.concat([Buffer.of(0x30, content.length), content])
}

const signatureRows: Row[] = [
  ecSignature('r and s of 0', () => Buffer.concat([zero, zero])),
  ecSignature('r of 0', (made) => Buffer.concat([zero, made.subarray(32)])),
  ecSignature('s of 0', (made) => Buffer.concat([made.subarray(0, 32), zero])),
  ecSignature('r and s of the order', () => Buffer.concat([order, order])),
  ecSignature('r and s of 1', () => Buffer.concat([one, one])),
  ecSignature('s and r exchanged', (made) =>
    Buffer.concat([made.subarray(32), made.subarray(0, 32)]),
  ),
  ecSignature('DER', derOf),
  ecSignature('a byte more', (made) => Buffer.concat([made, Buffer.alloc(1)])),
  ecSignature('a byte less', (made) => made.subarray(1)),
  ecSignature('nothing', () => Buffer.alloc(0)),
  ...(['RS256', 'PS256'] as const).flatMap((alg) => {
    const changed = (name: string, signature: (made: Buffer) => Buffer) =>
      rowOf(
        `${alg} with ${name}`,
        { header: header({ alg }), signer: signers[alg](keys.rsa), signature },
        'wrong_signature',
      )
    return [
      changed('nothing', () => Buffer.alloc(0)),
      changed('zeros', () => Buffer.alloc(256)),
      changed('ones', () => Buffer.alloc(256, 0xff)),
      changed('a byte less', (made) => made.subarray(0, -1)),
      changed('a byte more', (made) => Buffer.concat([made, Buffer.alloc(1)])),
      changed('a zero before', (made) => Buffer.concat([Buffer.alloc(1), made])),
      changed('a changed byte', (made) =>
        Buffer.concat([Buffer.of((made[0] as number) ^ 1), made.subarray(1)]),
      ),
      changed('another key', () => signers[alg](keys.otherRsa)('text')),
    ]
  }),
  ...(
    [
      ['nothing', () => Buffer.alloc(0)],
      ['zeros', () => Buffer.alloc(64)],
      ['a byte more', (made: Buffer) => Buffer.concat([made, Buffer.alloc(1)])],
      [
        's of all ones',
        (made: Buffer) => Buffer.concat([made.subarray(0, 32), Buffer.alloc(32, 0xff)]),
      ],
    ] as const
  ).map(([name, signature]) =>
    rowOf(
      `EdDSA with ${name}`,
      { header: { alg: 'EdDSA', kid: 'ed' }, signer: signers.EdDSA(keys.ed), signature },
      'wrong_signature',
    ),
  ),
  rowOf('RS256 by another key', { signer: signers.RS256(keys.otherRsa) }, 'wrong_signature'),
  rowOf(
    'ES256 by another key',
    { header: ecHeader, signer: signers.ES256(keys.otherEc) },
    'wrong_signature',
  ),
  rowOf(
    'EdDSA by another key',
    { header: { alg: 'EdDSA', kid: 'ed' }, signer: signers.EdDSA(keys.otherEd) },
    'wrong_signature',
  ),
  [
    'a payload of another assertion',
    `${validHeader}.${encodePart(claims({ sub: '4712' }))}.${validSignature}`,
    'wrong_signature',
  ],
  [
    'a header of another assertion',
    `${encodePart(header({ typ: undefined }))}.${validPayload}.${validSignature}`,
    'wrong_signature',
  ],
  ...[
    '',
    'secret',
    `${sharedSecret}\n`,
    sharedSecret.slice(1),
    sharedSecret.toUpperCase(),
    Buffer.from(sharedSecret).toString('base64'),
  ].map((secret) =>
    rowOf(
      `HS256 with the secret ${shown(secret)}`,
      { header: { alg: 'HS256' }, payload: from('backend'), signer: hmacSigner(secret) },
      'wrong_signature',
    ),
  ),
  rowOf(
    'HS256 with half a signature',
    {
      header: { alg: 'HS256' },
      payload: from('backend'),
      signer: hmacSigner(sharedSecret),
      signature: (made) => made.subarray(0, 16),
    },
    'wrong_signature',
  ),
  rowOf(
    'HS256 without a signature',
    { header: { alg: 'HS256' }, payload: from('backend'), signer: none },
    'wrong_signature',
  ),
]

const unfitRows: Row[] = [
  rowOf(
    'an RSA key of 1024 bits',
    { payload: from('https://weak.example'), signer: signers.RS256(keys.weakRsa) },
    'unusable_key',
  ),
  rowOf(
    'an RSA key of 1024 bits with PS256',
    {
      header: header({ alg: 'PS256' }),
      payload: from('https://weak.example'),
      signer: signers.PS256(keys.weakRsa),
    },
    'unusable_key',
  ),
  rowOf(
    'an RSA key with the exponent 1',
    { payload: from('https://exponent.example'), signer: unsignedRsa },
    'unusable_key',
  ),
  rowOf('a key for encryption', { payload: from('https://encryption.example') }, 'unknown_key'),
  rowOf(
    'a key for other operations',
    { payload: from('https://operations.example') },
    'unknown_key',
  ),
  rowOf('a public key for signing', { payload: from('https://signing.example') }, 'unusable_key'),
  rowOf('a key of another algorithm', { payload: from('https://pss.example') }, 'unknown_key'),
  rowOf(
    'a key of another curve',
    { header: ecHeader, payload: from('https://curve.example'), signer: signers.ES256(keys.ec384) },
    'unknown_key',
  ),
  rowOf(
    'a point that is on no curve',
    { header: ecHeader, payload: from('https://point.example'), signer: signers.ES256(keys.ec) },
    'unusable_key',
  ),
  rowOf('a private key in the set', { payload: from('https://private.example') }, 'unusable_key'),
  rowOf(
    'a shared secret in the set',
    {
      header: { alg: 'HS256', kid: 'oct' },
      payload: from('https://shared.example'),
      signer: hmacSigner(sharedSecret),
    },
    'wrong_algorithm',
  ),
  rowOf(
    'a shared secret in the set with RS256',
    { header: header({ kid: 'oct' }), payload: from('https://shared.example') },
    'unknown_key',
  ),
]

/** Wrong algorithms, keys and signatures. */
export const keyRows: readonly Row[] = [
  ...unsigned,
  ...confused,
  ...algorithmRows,
  ...kidRows,
  ...embeddedRows,
  ...signatureRows,
  ...unfitRows,
]
