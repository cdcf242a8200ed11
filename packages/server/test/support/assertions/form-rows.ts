/** Hostile assertions whose text, JSON or header has a wrong form. */
import { buildAssertion, jsonWith, testSeconds as now, rsaHeader, validClaims } from './builder.js'
import { claims, from, header, type Row, rowOf, withHeader } from './row.js'

const valid = buildAssertion()

const [validHeader = '', validPayload = '', validSignature = ''] = valid.split('.')

/** The other letter of a last one whose low bits are not used. */
const otherEnd = (part: string) =>
  part.slice(0, -1) + String.fromCharCode((part.charCodeAt(part.length - 1) as number) + 1)

const json = JSON.stringify

const textRows: Row[] = [
  ...(
    [
      ['nothing', ''],
      ['a word', 'assertion'],

      ['more full stops', '....'],
      ['two parts', `${validHeader}.${validPayload}`],
      ['an empty third part and a fourth', `${valid}.`],
      ['four parts', `${valid}.${validSignature}`],
      ['five parts, as a JWE', `${validHeader}.${validSignature}.AAAA.${validPayload}.AAAA`],
      ['a full stop before', `.${valid}`],
      [
        'JSON serialization, flattened',
        json({ protected: validHeader, payload: validPayload, signature: validSignature }),
      ],
      [
        'JSON serialization, general',
        json({
          payload: validPayload,
          signatures: [{ protected: validHeader, signature: validSignature }],
        }),
      ],
      ['a token in quotes', `"${valid}"`],
      ['Bearer before it', `Bearer ${valid}`],
      ['a space before', ` ${valid}`],
      ['a space after', `${valid} `],
      ['a line break after', `${valid}\n`],
      [
        'a line break within',
        `${validHeader}.${validPayload.slice(0, 20)}\n${validPayload.slice(20)}.${validSignature}`,
      ],
      [
        'a tab within',
        `${validHeader}.${validPayload}.${validSignature.slice(0, 9)}\t${validSignature.slice(9)}`,
      ],
      ['padding of the header', `${validHeader}=.${validPayload}.${validSignature}`],
      ['padding of the payload', `${validHeader}.${validPayload}==.${validSignature}`],
      ['padding of the signature', `${valid}==`],
      [
        'standard base64 in the signature',
        `${validHeader}.${validPayload}.+/${validSignature.slice(2)}`,
      ],
      [
        'standard base64 in the payload',
        `${validHeader}.${validPayload.slice(0, -2)}+/.${validSignature}`,
      ],
      ['percent encoding', valid.replaceAll('.', '%2E')],
      ['U+0000 after', `${valid}\0`],
      ['a letter that is none of ASCII', `${valid}ä`],
      ['full-width letters', `${validHeader}.${validPayload}.ＡＡＡＡ`],
      ['three characters too many in the signature', `${valid}AAA`],
      ['unused bits at the end of the signature', otherEnd(valid)],
      ['a lone surrogate', `${valid}\ud800`],
      ['the separator of another alphabet', valid.replaceAll('.', '\u3002')],
    ] as const
  ).map(([name, text]): Row => [name, text, 'not_a_jws']),
  rowOf(
    '8193 bytes',
    {
      payload: claims({ pad: '' }),
      signature: (made) => Buffer.concat([made, Buffer.alloc(6144)]),
    },
    'too_large',
  ),
  ['much text', 'A'.repeat(8_193), 'too_large'],
  ['a megabyte', `${valid}${'A'.repeat(1_000_000)}`, 'too_large'],
  ['8192 characters of two bytes', 'ä'.repeat(8_192), 'too_large'],
]

const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

const brokenObjects: readonly (readonly [string, string | Buffer])[] = [
  ['an empty text', ''],
  ['null', 'null'],
  ['a list', '[]'],
  ['a text', '"text"'],
  ['a number', '1'],
  ['true', 'true'],
  ['no JSON', '{'],
  ['two objects', '{}{}'],
  ['words after it', '{} x'],
  ['a comma at the end', '{"a":1,}'],
  ['a comma at the start', '{,"a":1}'],
  ['a comment', '{/* */}'],
  ['single quotes', "{'a':1}"],
  ['a name without quotes', '{a:1}'],
  ['NaN', '{"a":NaN}'],
  ['a number in hex', '{"a":0x10}'],
  ['a leading zero', '{"a":01}'],
  ['a plus sign', '{"a":+1}'],
  ['a full stop at the end of a number', '{"a":1.}'],
  ['a line break in a text', '{"a":"\n"}'],
  ['an unknown escape', '{"a":"\\x41"}'],
  ['a form feed between', '{\f"a":1}'],
  ['a byte order mark', '\ufeff{}'],
  ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['overlong UTF-8', Buffer.from([0x7b, 0x22, 0xc0, 0xae, 0x22, 0x3a, 0x31, 0x7d])],
  ['a raw lone surrogate', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
  ['an escaped lone surrogate', '{"a":"\\ud800"}'],
  ['an escaped low surrogate', '{"a":"\\udc00"}'],
  ['surrogates in the wrong order', '{"a":"\\udc00\\ud800"}'],
  ['a lone surrogate in a name', '{"\\ud800":1}'],
  ['a member twice', '{"a":1,"a":1}'],
  ['an escaped name twice', '{"a":1,"\\u0061":2}'],
  ['__proto__ twice', '{"__proto__":1,"__proto__":1}'],
  ['a member twice within', '{"a":{"b":1,"b":2}}'],
  ['a member twice in a list', '{"a":[{"b":1,"b":2}]}'],
  ['9 levels of lists', `{"a":${lists(8)}}`],
  ['9 levels of objects', objects(9)],
  ['1000 levels', `{"a":${lists(1_000)}}`],
]

const jsonRows: Row[] = [
  ...brokenObjects.flatMap(([name, text]): Row[] => [
    rowOf(`${name} as the header`, { header: text }, 'invalid_json'),
    rowOf(`${name} as the payload`, { payload: text }, 'invalid_json'),
  ]),
  ...['iss', 'sub', 'aud', 'exp', 'iat', '\\u0073ub', 'i\\u0073s', 'ex\\u0070'].map((name) =>
    rowOf(
      `the claim ${name} twice`,
      { payload: jsonWith(validClaims, `,"${name}":"other"}`) },
      'invalid_json',
    ),
  ),
  ...['alg', 'kid', 'typ', '\\u0061lg', 'ki\\u0064'].map((name) =>
    rowOf(
      `${name} of the header twice`,
      { header: jsonWith(rsaHeader, `,"${name}":"none"}`) },
      'invalid_json',
    ),
  ),
]

const headerRows: Row[] = [
  ...withHeader('critical_header', [
    { crit: [] },
    { crit: ['exp'], exp: now },
    { crit: ['b64'], b64: false },
    { crit: ['b64'], b64: true },
    { crit: null },
    { crit: 'b64' },
    { b64: false },
    { b64: true },
    { b64: null },
  ]),
  ...withHeader(
    'wrong_type',
    [
      ...[
        'at+jwt',
        'application/at+jwt',
        'logout+jwt',
        'dpop+jwt',
        'secevent+jwt',
        'token-introspection+jwt',
      ],
      ...[
        'kb+jwt',
        'vc+sd-jwt',
        'JOSE',
        'JOSE+JSON',
        'JWS',
        'JWE',
        '',
        'JWT ',
        'application/',
        'text/jwt',
      ],
      ...[null, 1, true, ['JWT'], {}],
    ].map((typ) => ({ typ })),
  ),
  rowOf(
    'no typ where one is set',
    { header: header({ typ: undefined }), payload: from('https://types.example') },
    'wrong_type',
  ),
  rowOf('JWT where another type is set', { payload: from('https://types.example') }, 'wrong_type'),
]

/** Wrong forms. */
export const formRows: readonly Row[] = [...textRows, ...jsonRows, ...headerRows]
