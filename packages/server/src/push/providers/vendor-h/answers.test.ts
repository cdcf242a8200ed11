/** Outcomes of answers of vendor_h. */
import { describe, expect, it } from 'vitest'
import type { PushOutcome } from '../../outcomes.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { vendorHOutcomes } from './answers.js'

const targets = ['a', 'b', 'c'].map((token) => ({ token, badgeCount: null }))
const ofVersion2 = { targets, credentials: { apiVersion: 2 } } as const

function answer(body: unknown, status = 200): GatewayAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, headers: {}, body: text, receivedAt: 0 }
}

/** Kinds in short: those of suspect tokens get a question mark. */
function kinds(outcomes: readonly PushOutcome[]): string[] {
  return outcomes.map((outcome) =>
    outcome.kind === 'invalid_token' && outcome.isSuspect ? 'invalid_token?' : outcome.kind,
  )
}

describe('vendor_h', () => {
  const read = (body: unknown, status = 200) => vendorHOutcomes(answer(body, status), ofVersion2)

  it('takes the illegal tokens from the message, which is JSON', () => {
    const msg = JSON.stringify({ success: 2, failure: 1, illegal_tokens: ['b'] })
    const outcomes = read({ code: '80100000', msg, requestId: 'r' })
    expect(kinds(outcomes)).toEqual(['accepted', 'invalid_token', 'accepted'])
    expect(outcomes[0]).toEqual({ kind: 'accepted', messageId: 'r' })
  })

  const ended = { kind: 'invalid_token', isSuspect: false }
  const suspect = { kind: 'invalid_token', isSuspect: true }
  const ofSetUp = { kind: 'config', isOfPush: true }
  const taken = { kind: 'accepted', messageId: 'r' }

  it.each([
    ['an ended token', 3, '80100000', { tokenFormatError: ['a'] }, [ended, taken, taken]],
    ['a name with spaces', 3, '80100000', { ' tokenFormatError ': ['a'] }, [ended, taken, taken]],
    ['a list', 3, '80100000', ['a', 'b'], [ended, ended, taken]],
    ['a right that is missing', 3, '80100000', { noPushTypeRight: ['b'] }, [taken, ofSetUp, taken]],
    [
      'several lists',
      3,
      '80100000',
      { noRight: ['a'], tokenFormatError: ['b'] },
      [ofSetUp, ended, taken],
    ],
    ['a list of a later version', 3, '80100000', { somethingNew: ['c'] }, [taken, taken, ofSetUp]],
    ['lists that are none', 3, '80100000', { noRight: 'a', '': [{}] }, [taken, taken, taken]],
    [
      'only tokens of another project',
      3,
      '80300007',
      { noRight: ['a', 'b', 'c'] },
      Array(3).fill(ofSetUp),
    ],
    ['only ended tokens', 3, '80300007', { tokenFormatError: ['a'] }, Array(3).fill(suspect)],
    ['no lists', 3, '80300007', undefined, Array(3).fill(suspect)],
    [
      'tokens of the third in the second',
      2,
      '80300007',
      { noRight: ['a'] },
      [ofSetUp, suspect, suspect],
    ],
  ] as const)('reads illegal tokens of version 3: %s', (_, apiVersion, code, lists, outcomes) => {
    const msg = JSON.stringify({ success: 1, failure: 2, illegalTokens: lists })
    const read3 = vendorHOutcomes(answer({ code, msg, requestId: 'r' }), {
      targets,
      credentials: { apiVersion },
    })
    expect(read3).toMatchObject(outcomes)
    expect(JSON.stringify(read3)).not.toContain('illegalTokens')
  })

  it.each([
    [2, '80100000', 'config'],
    [2, '80300007', 'config'],
    [3, '80100000', 'invalid_token'],
    [3, '80300007', 'invalid_token?'],
  ] as const)(
    'version %i: an illegal token of a device with HarmonyOS 5 in an answer %s is %s',
    (apiVersion, code, kind) => {
      const token = 'MAMzLgIjlPW'
      const msg = JSON.stringify({
        illegal_tokens: [token],
        ...(apiVersion === 3 && { illegalTokens: [token] }),
      })
      const [outcome] = vendorHOutcomes(answer({ code, msg }), {
        targets: [{ token, badgeCount: null }],
        credentials: { apiVersion },
      })
      expect(outcome && kinds([outcome])).toEqual([kind])
      if (kind === 'config')
        expect(outcome).toHaveProperty('reason', expect.stringContaining('api_version 3'))
    },
  )

  it('knows its codes', () => {
    const codes = ['80300007', '80200003', '80300002', '80300008', '81000001', '80100017']
    expect(codes.map((code) => kinds(read({ code, msg: '' }))[0])).toEqual([
      'invalid_token?',
      'auth_expired',
      'config',
      'payload',
      'server_error',
      'throttled',
    ])
    const ofVersion3 = ['80100022', '80300029', '80300030', '80300036', '80300037']
    expect(ofVersion3.map((code) => kinds(read({ code, msg: '' }))[0])).toEqual([
      'payload',
      'throttled',
      'payload',
      'config',
      'config',
    ])
    expect(kinds(read('', 401))).toEqual(['auth_expired', 'auth_expired', 'auth_expired'])
  })

  it('raises an alarm for a code that it does not know, also where the status tells more', () => {
    const alarm = { kind: 'unknown_code' }
    expect(read({ code: '81009999' }, 503)[0]).toMatchObject({ kind: 'throttled', alarm })
    expect(read('<html>', 200)[0]).toMatchObject({ kind: 'server_error', alarm })
    for (const known of [read({ code: '80300002' }), read('', 503)])
      expect(known[0]).not.toHaveProperty('alarm')
  })
})
