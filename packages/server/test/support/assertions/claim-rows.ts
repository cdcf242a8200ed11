/** Hostile assertions with wrong claims. */
import { jsonWith, testSeconds as now, validClaims } from './builder.js'
import {
  claims,
  from,
  header,
  type Row,
  rowOf,
  shown,
  withClaim,
  without,
  withRawClaim,
} from './row.js'

const json = JSON.stringify

const timeRows: Row[] = [
  ...['exp', 'iat'].flatMap((name) => [
    rowOf(`no ${name}`, { payload: without(name) }, 'invalid_time'),
    ...withClaim(name, 'invalid_time', [
      null,
      true,
      '',
      String(now),
      '2027-01-15T08:00:00Z',
      [now],
      {},
      -1,
      now + 0.5,
    ]),
    ...withRawClaim(name, 'invalid_time', [
      '9007199254740992',
      '9007199254740993',
      '1e400',
      '-1e400',
      '1e3',
      `${now}.0`,
      '-0',
      `-${now}`,
      '1'.repeat(60),
    ]),
  ]),
  ...withClaim('nbf', 'invalid_time', [null, true, '', String(now), [now], -1, 0.5]),
  ...withRawClaim('nbf', 'invalid_time', ['9007199254740992', '1e400', '-0']),
  ...withClaim('exp', 'expired', [0, 1, now - 61, now - 60, now - 86_400]),
  ...withClaim('iat', 'issued_in_future', [now + 61, now + 3_600, now * 1000, 2 ** 53 - 1]),
  ...withClaim('nbf', 'not_yet_valid', [now + 61, now + 300, now * 1000, 2 ** 53 - 1]),
  ...withClaim('iat', 'too_old', [0, 1, now - 661, now - 86_400]),
]

const audienceRows: Row[] = [
  rowOf('no aud', { payload: without('aud') }, 'wrong_audience'),
  ...withClaim('aud', 'wrong_audience', [
    ...['', 'other', 'App', 'app ', 'app,web', 'https://app', '*'],
    ...[
      null,
      true,
      1,
      {},
      { app: true },
      [],
      ['other'],
      ['other', 'third'],
      [''],
      [null],
      [['app']],
    ],
    ...[['app', 1], ['app', null], [1, 'app'], { 0: 'app', length: 1 }],
  ]),
  ...[undefined, '', 'other', 'App', null, true, ['app'], { app: 1 }].flatMap((azp) =>
    [
      ['app', 'other'],
      ['other', 'app'],
      ['app', 'web'],
      ['app', 'app'],
    ].map((aud) =>
      rowOf(
        `aud ${shown(aud)} with azp ${shown(azp)}`,
        { payload: claims({ aud, azp }) },
        'wrong_party',
      ),
    ),
  ),
]

const subjectRows: Row[] = [
  rowOf('no sub', { payload: without('sub') }, 'invalid_subject'),
  ...withClaim('sub', 'invalid_subject', [
    ...[
      '',
      's'.repeat(256),
      'ä'.repeat(128),
      '😀'.repeat(64),
      'a\0',
      '\0',
      'a\nb',
      '\t',
      '\u007f',
      'a\u0085',
      '\u009f',
    ],
    ...[null, true, false, [], ['4711'], {}, { sub: '4711' }, -1, 1.5, 0.1],
  ]),
  ...withRawClaim('sub', 'invalid_subject', [
    ...[
      '9007199254740992',
      '9007199254740993',
      '18446744073709551616',
      '-9007199254740993',
      '1e3',
      '1E3',
    ],
    ...[
      '1.0',
      '4711.0',
      '1.00000000000000000001',
      '9007199254740991.4',
      '1e400',
      '-0',
      '0.0',
      '1e-400',
    ],
  ]),
  rowOf(
    'a subject that only the prototype has',
    { payload: from('https://names.example') },
    'invalid_subject',
  ),
  rowOf(
    'a subject within __proto__',
    { payload: jsonWith(without('sub'), ',"__proto__":{"sub":"4711"}}') },
    'invalid_subject',
  ),
]

const issuerRows: Row[] = [
  rowOf('no iss', { payload: without('iss') }, 'unknown_issuer'),
  ...withClaim('iss', 'unknown_issuer', [
    ...[
      '',
      'https://issuer.example/',
      'HTTPS://issuer.example',
      'https://Issuer.example',
      'http://issuer.example',
    ],
    ...[
      'https://issuer.example ',
      'https://issuer.example\0',
      'https://issuer.example:443',
      'https://issuer.example.',
    ],
    ...[
      'issuer.example',
      'https://issuer.example.evil.example',
      'https://evil.example',
      'https://іssuer.example',
    ],
    ...[
      null,
      true,
      1,
      {},
      [],
      [validClaims.iss],
      [validClaims.iss, 'other'],
      { iss: validClaims.iss },
    ],
    ...['__proto__', 'constructor', 'toString'],
  ]),
  rowOf(
    'iss within __proto__',
    { payload: jsonWith(without('iss'), `,"__proto__":${json(validClaims)}}`) },
    'unknown_issuer',
  ),
  rowOf(
    'iss in the header',
    { header: header({ iss: validClaims.iss }), payload: without('iss') },
    'unknown_issuer',
  ),
]

const logoutRows: Row[] = withClaim('events', 'logout_token', [
  { 'http://schemas.openid.net/event/backchannel-logout': {} },
  { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': {} },
  {},
  [],
  null,
  '',
  false,
])

/** Wrong claims. */
export const claimRows: readonly Row[] = [
  ...timeRows,
  ...audienceRows,
  ...subjectRows,
  ...issuerRows,
  ...logoutRows,
]
