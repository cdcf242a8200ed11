import { describe, expect, it } from 'vitest'
import type { LoggedEvent } from '../domain/events/logged-event.js'
import { ForbiddenAddressError, type OutboundPost } from '../lib/outbound/outbound-client.js'
import { newSecret } from '../lib/secrets/webhook-signature.js'
import { HttpSender, outcomeOfStatus } from './http-sender.js'
import type { SendTarget } from '../domain/webhooks/webhook-sender.js'

const message = {
  conversation: { low_id: 7, high_id: 9, is_group: false },
  msg_id: 4711,
  seq: 3,
  sender_id: 9,
  sender_device_sn: 0,
  content_type: 0,
  content: 'Are you there?',
  attachment: '',
  config: '',
  ext: '{"a":1}',
  is_system: false,
  timestamp: 1_700_000_000_000,
  edit_timestamp: 0,
}

const event: LoggedEvent = {
  id: 'evt_app_5_4711',
  kind: 'message.stored',
  appId: 'app',
  position: 5,
  place: 2,
  name: '4711',
  key: 'd:7:9',
  createdAt: 1_700_000_000_000,
  payload: message,
}

const target: SendTarget = {
  url: 'https://hooks.example.com/',
  format: 'standard',
  isBatch: false,
  secrets: [newSecret()],
  timeoutMs: 5_000,
}

interface Given {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly error?: Error
}

/** Sends events to a receiver that answers as given; returns the request and the result. */
async function sent(
  { status = 200, headers = {}, body = '', error }: Given = {},
  { to = target, events = [event] }: { to?: SendTarget; events?: readonly LoggedEvent[] } = {},
) {
  const requests: OutboundPost[] = []
  const post = async (request: OutboundPost) => {
    requests.push(request)
    if (error) throw error
    return { status, headers, body: Buffer.from(body), isWhole: true }
  }
  const sender = new HttpSender({
    client: { post },
    clock: { now: () => 1_700_000_060_500 },
    epoch: () => 'epoch-1',
    userAgent: 'Hermod/1',
  })
  const result = await sender.send(to, events, new AbortController().signal)
  return { request: requests[0], result }
}

describe('requests', () => {
  it('have the event with its ID, type, time, cursor and key', async () => {
    const { request } = await sent()
    expect(JSON.parse(String(request?.body))).toEqual({
      id: 'evt_app_5_4711',
      type: 'message.stored',
      timestamp: 1_700_000_000_000,
      app_id: 'app',
      cursor: 'epoch-1~app~4~2',
      key: 'd:7:9',
      data: message,
    })
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Hermod/1',
      'webhook-id': 'evt_app_5_4711',
      'webhook-timestamp': '1700000060',
    })
  })

  it('of a batch have a list, also of one event, and the ID of its first event', async () => {
    const second = { ...event, id: 'evt_app_6', kind: 'group.created', name: '' } as const
    for (const events of [[event], [event, second]]) {
      const { request } = await sent({}, { to: { ...target, isBatch: true }, events })
      const ids = JSON.parse(String(request?.body)).map(({ id }: { id: string }) => id)
      expect(ids).toEqual(events.map(({ id }) => id))
      expect(request?.headers['webhook-id']).toBe('evt_app_5_4711')
    }
  })

  it('of the format callback have a message in the old form, and the secret as it is', async () => {
    const to = { ...target, format: 'callback', secrets: ['the-shared-secret'] } as const
    const { request } = await sent({}, { to })
    expect(request?.headers.signature).toBe('the-shared-secret')
    expect(JSON.parse(String(request?.body))).toEqual({
      appId: 'app',
      msgId: 4711,
      from: { uid: 9 },
      to: { uid: 7 },
      type: 'CHAT',
      ctype: 'TEXT',
      content: 'Are you there?',
      ext: '{"a":1}',
    })
  })

  it('of the format callback are made for messages only', async () => {
    const to = { ...target, format: 'callback', secrets: ['the-shared-secret'] } as const
    const { request, result } = await sent(
      {},
      { to, events: [{ ...event, kind: 'group.created' }] },
    )
    expect(request).toBeUndefined()
    expect(result.outcome).toBe('delivered')
  })
})

describe('answers', () => {
  it.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'unavailable'],
    [307, 'unavailable'],
    [400, 'refused'],
    [401, 'refused'],
    [404, 'refused'],
    [408, 'unavailable'],
    [410, 'gone'],
    [422, 'refused'],
    [425, 'unavailable'],
    [429, 'unavailable'],
    [500, 'unavailable'],
    [502, 'unavailable'],
    [504, 'unavailable'],
  ])('%i means %s', (status, outcome) => {
    expect(outcomeOfStatus(status)).toBe(outcome)
  })

  it('Retry-After counts in seconds or as a date, up to five hours', async () => {
    const after = async (value: string) =>
      (await sent({ status: 429, headers: { 'retry-after': value } })).result.retryAfterMs
    expect(await after('7')).toBe(7_000)
    expect(await after(new Date(1_700_000_090_000).toUTCString())).toBe(29_500)
    expect(await after('999999')).toBe(18_000_000)
    expect(await after('-5')).toBe(0)
    expect(await after('soon')).toBeNull()
    expect((await sent({ status: 429 })).result.retryAfterMs).toBeNull()
  })

  it('the first KiB of the body is kept', async () => {
    const { result } = await sent({ status: 400, body: 'x'.repeat(5_000) })
    expect(result).toMatchObject({ outcome: 'refused', status: 400, answer: 'x'.repeat(1024) })
  })

  it('a forbidden address and a failed connection are told apart, with the reason', async () => {
    const forbidden = await sent({
      error: new ForbiddenAddressError('10.0.0.1 is no public address'),
    })
    expect(forbidden.result).toMatchObject({
      outcome: 'forbidden',
      status: 0,
      error: '10.0.0.1 is no public address',
    })
    const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
    expect((await sent({ error: refused })).result).toMatchObject({
      outcome: 'unavailable',
      error: 'connect failed (ECONNREFUSED)',
    })
  })
})
