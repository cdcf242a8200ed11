import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isSignedByVendorH, isTestOfAddress } from './kit.js'
import { parseReceipts, receiptAnswer } from './parse.js'
import { type ReceiptChannel, ReceiptError, receiptChannels } from './receipt.js'
import { isSentByVendorF } from './vendor-f.js'

function form(fields: Record<string, string>): string {
  return new URLSearchParams(fields).toString()
}

/** What each vendor sends, by the examples of its documents. */
const bodies: Readonly<Record<ReceiptChannel, string>> = {
  vendor_h: JSON.stringify({
    statuses: [
      { token: 't1', status: 0, timestamp: 1489993883189, appid: '1', biTag: '7', requestId: 'r1' },
      { token: 't2', status: 5, timestamp: 1489993883189, requestId: 'r1' },
      {
        token: 't3',
        deliveryStatus: { result: 6, timestamp: 1489993883190 },
        pushType: 0,
        requestId: 'r2',
      },
      { token: 't4', status: 27, requestId: 'r2' },
    ],
  }),
  vendor_n: JSON.stringify({
    statuses: [
      { token: 't1', biTag: '7', status: 40000002, timestamp: 5, appid: '1', requestId: 'r1' },
      { token: 't2', biTag: '7', status: 40000007, timestamp: 6, appid: '1', requestId: 'r1' },
    ],
  }),
  vendor_x: form({
    data: JSON.stringify({
      m1: { param: '7', type: 1, targets: 't1,t2', timestamp: 1585203103625, barStatus: 'Enable' },
      m2: { param: '7', type: 16, targets: 't3', replaceTarget: { t3: 't4' } },
    }),
  }),
  vendor_f: form({
    cb: JSON.stringify({ 'm1-1': { param: '7', type: 1, targets: ['t1', 't2'] } }),
    access_token: 'secret',
  }),
  vendor_v: JSON.stringify({
    m1: { targets: 't1', param: '7', ackTime: 1700000000000, ackType: '0', subAckType: '' },
    m2: { targets: 't2,t3', param: '7' },
    m3: { targets: 't4', ackType: '102', subAckType: '2183' },
  }),
  vendor_o: JSON.stringify([
    {
      messageId: 'm1',
      registrationIds: 't1,t2',
      eventTime: '9',
      param: '7',
      eventType: 'push_arrive',
    },
    { messageId: 'm2', registrationIds: 't3', eventTime: '9', eventType: 'user_daily_limit' },
  ]),
}

function read(channel: ReceiptChannel) {
  return parseReceipts(channel, bodies[channel]).map(
    ({ messageId, token, kind, code, tag, at }) => [messageId, token, kind, code, tag, at],
  )
}

describe('parseReceipts', () => {
  it('vendor_h: both versions of a status', () => {
    expect(read('vendor_h')).toEqual([
      ['r1', 't1', 'delivered', '0', '7', 1489993883189],
      ['r1', 't2', 'invalid_token', '5', '', 1489993883189],
      ['r2', 't3', 'muted', '6', '', 1489993883190],
      ['r2', 't4', 'ignored', '27', '', null],
    ])
  })

  it('vendor_n: a list of statuses', () => {
    expect(read('vendor_n')).toEqual([
      ['r1', 't1', 'delivered', '40000002', '7', 5],
      ['r1', 't2', 'clicked', '40000007', '7', 6],
    ])
  })

  it('vendor_x: a form, several devices a message, and tokens that were replaced', () => {
    expect(read('vendor_x')).toEqual([
      ['m1', 't1', 'delivered', '1', '7', 1585203103625],
      ['m1', 't2', 'delivered', '1', '7', 1585203103625],
      ['m2', 't3', 'invalid_token', '16', '7', null],
    ])
    expect(parseReceipts('vendor_x', bodies.vendor_x)[2]?.newToken).toBe('t4')
  })

  it('vendor_f: a form, with the type in the key', () => {
    expect(read('vendor_f')).toEqual([
      ['m1', 't1', 'delivered', '1', '7', null],
      ['m1', 't2', 'delivered', '1', '7', null],
    ])
  })

  it('vendor_v: with and without a type', () => {
    expect(read('vendor_v')).toEqual([
      ['m1', 't1', 'delivered', '0', '7', 1700000000000],
      ['m2', 't2', 'delivered', '0', '7', null],
      ['m2', 't3', 'delivered', '0', '7', null],
      ['m3', 't4', 'invalid_token', '102/2183', '', null],
    ])
  })

  it('vendor_o: a list of events', () => {
    expect(read('vendor_o')).toEqual([
      ['m1', 't1', 'delivered', 'push_arrive', '7', 9],
      ['m1', 't2', 'delivered', 'push_arrive', '7', 9],
      ['m2', 't3', 'throttled', 'user_daily_limit', '', 9],
    ])
  })

  it.each(['vendor_h', 'vendor_n'] as const)(
    '%s: a test of the address by the console reports nothing',
    (channel) => {
      for (const body of ['', '{}', '{"test":true}', '{"statuses":[]}']) {
        expect(parseReceipts(channel, body)).toEqual([])
        expect(isTestOfAddress(body)).toBe(true)
      }
      for (const body of ['[]', '{"statuses":{}}', '{"statuses":['])
        expect(() => parseReceipts(channel, body)).toThrow(ReceiptError)
      for (const body of ['[]', 'x', '{"statuses":{}}', bodies[channel]])
        expect(isTestOfAddress(body)).toBe(false)
    },
  )

  it.each(receiptChannels)(
    '%s: says what is wrong with a body that is none of its own',
    (channel) => {
      const nonsense = ['', 'x', '[]', '{}', '{"a":1}', '[1]', 'data=x', 'cb=[]', 'data={"a":{}}']
      const others = receiptChannels.filter((each) => each !== channel).map((each) => bodies[each])
      for (const body of [...nonsense, ...others]) {
        try {
          // What has no entries, or those of a like vendor, is no error.
          expect(Array.isArray(parseReceipts(channel, body))).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(ReceiptError)
          expect((error as Error).message).toMatch(/is not|is missing|has no field/)
        }
      }
      expect(() => parseReceipts(channel, 'x')).toThrow(ReceiptError)
      // Half of a body is none, wherever it was cut.
      const half = bodies[channel].slice(0, bodies[channel].length / 2)
      expect(() => parseReceipts(channel, half)).toThrow(ReceiptError)
    },
  )

  it('names the member that is missing', () => {
    const body = JSON.stringify({ statuses: [{ token: 't', status: 0 }] })
    expect(() => parseReceipts('vendor_h', body)).toThrow('requestId is missing')
    expect(() => parseReceipts('vendor_o', '[{"eventType":"push_arrive"}]')).toThrow(
      'registrationIds is missing',
    )
  })
})

describe('where a receipt comes from', () => {
  it('vendor_h signs time, nonce and user, as in the known example', () => {
    const value = '4rjS5oZBe41/JkZ4o9L/nt71h3eTvS7m0s4gCqKW16A='
    const header = `timestamp=1700000000000; nonce=nonce-1; value=${value}`
    const known = { user: 'cbuser', secret: 'cbkey' }
    const at = 1_700_000_000_000
    expect(isSignedByVendorH(header, known, at)).toBe(true)
    expect(isSignedByVendorH(header, { ...known, secret: 'other' }, at)).toBe(false)
    expect(isSignedByVendorH(header.replace('00000;', '00001;'), known, at)).toBe(false)
    expect(isSignedByVendorH('', known, at)).toBe(false)
  })

  const signedAt = 1_700_000_000_000
  const sign = (key: string | Buffer) => {
    const value = createHmac('sha256', key).update(`${signedAt}nonce-1cbuser`).digest('base64')
    return `timestamp=${signedAt};nonce=nonce-1;value=${value}`
  }

  it.each([
    ['as text, in old set-ups', 'c2VjcmV0IGtleQ==', 'c2VjcmV0IGtleQ==', true],
    ['as base64, in new ones', 'c2VjcmV0IGtleQ==', Buffer.from('secret key'), true],
    ['as base64 without padding', 'c2VjcmV0IGtleQ', Buffer.from('secret key'), true],
    ['as the bytes of a text that is not base64', 'c!', Buffer.from('c!', 'base64'), false],
    ['as nothing', '!', '', false],
    ['as the text of another key', 'c2VjcmV0IGtleQ==', 'secret key 2', false],
  ])('vendor_h: a signature with the key %s', (_, secret, key, isValid) => {
    expect(isSignedByVendorH(sign(key), { user: 'cbuser', secret }, signedAt)).toBe(isValid)
  })

  it('vendor_h: a signature is valid for ten minutes of the clock, however often it is sent', () => {
    const proof = { user: 'cbuser', secret: 'cbkey' }
    const isValid = (minutes: number) =>
      isSignedByVendorH(sign('cbkey'), proof, signedAt + minutes * 60_000)
    expect([-11, -9, 0, 0, 9, 11].map(isValid)).toEqual([false, true, true, true, true, false])
  })

  it('vendor_f sends the access token of its console', () => {
    expect(isSentByVendorF(bodies.vendor_f, 'secret')).toBe(true)
    expect(isSentByVendorF(bodies.vendor_f, 'other')).toBe(false)
    expect(isSentByVendorF('cb={}', 'secret')).toBe(false)
  })
})

describe('receiptAnswer', () => {
  it('has for vendor_h the members of both versions of its receipts', () => {
    expect(JSON.parse(receiptAnswer('vendor_h'))).toEqual({
      code: '0',
      message: 'success',
      errno: '0',
      errmsg: 'success',
    })
  })

  it('is JSON for every vendor', () => {
    for (const channel of receiptChannels)
      expect(typeof JSON.parse(receiptAnswer(channel))).toBe('object')
  })
})
