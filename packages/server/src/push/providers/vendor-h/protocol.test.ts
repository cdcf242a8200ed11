import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import { ContentNotes } from '../content/content-notes.js'
import { probeNotification } from '../runtime/probe.js'
import { readVendorHCredentials } from './credentials.js'
import { vendorHProtocol } from './protocol.js'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  project_id: '9',
  key_id: 'key-1',
  sub_account: 'sub-1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}
const certificate = {
  channel: 'vendor_h',
  environment: 'production',
  appId: '1',
  appKey: '',
  appSecret: '',
  certificate: JSON.stringify(account),
  apiVersion: 3,
} as const

interface Message {
  readonly payload: {
    readonly notification: Readonly<Record<string, unknown>> & { readonly clickAction: unknown }
  }
  readonly pushOptions: { readonly testMessage: boolean }
  readonly target: { readonly token: readonly string[] }
}

/** Sends to a gateway that knows no picture; returns the messages and the outcomes. */
async function send(
  changes: Partial<PushNotification>,
  { tokens = ['a'], ...options }: Partial<GatewayCertificate> & { tokens?: string[] } = {},
) {
  const messages: Message[] = []
  const outcomes = await vendorHProtocol.send(
    {
      credentials: readVendorHCredentials(certificate),
      certificate: { ...certificate, ...options },
      notification: { ...probeNotification(0), isSilent: false, ...changes },
      targets: tokens.map((token) => ({ token, badgeCount: null })),
      part: '',
      authToken: 'TOKEN',
      notes: new ContentNotes(),
      now: 0,
    },
    async ({ body }) => {
      messages.push(JSON.parse(body))
      const code = body.includes('"image"') ? '80100022' : '80000000'
      const text = JSON.stringify({ code, msg: '', requestId: 'r' })
      return { status: 200, headers: {}, body: text, receivedAt: 0 }
    },
  )
  return { messages, outcomes }
}

describe('a picture that the vendor has not checked', () => {
  it('goes to the app as an attachment, and the push without it to the device', async () => {
    const picture = 'https://example.com/cat.png'
    const { messages, outcomes } = await send({ kind: 'image', attachmentUrl: picture })
    expect(outcomes).toEqual([{ kind: 'accepted', messageId: 'r' }])
    expect(messages).toHaveLength(2)
    expect(messages[1]?.payload.notification).toMatchObject({
      clickAction: { data: { hermod: { attachment_url: picture } } },
    })
  })

  it('costs no second request where there is none', async () => {
    expect((await send({ kind: 'text' })).messages).toHaveLength(1)
  })
})

describe('version 3 of vendor_h', () => {
  it.each([
    ['production', [12], false],
    ['development', [10, 2], true],
  ] as const)('in %s sends requests with %j tokens', async (environment, sizes, isTest) => {
    const tokens = Array.from({ length: 12 }, (_, index) => `device-${index}`)
    const { messages, outcomes } = await send({}, { environment, tokens })
    expect(messages.map(({ target }) => target.token.length)).toEqual(sizes)
    for (const { pushOptions } of messages) expect(pushOptions.testMessage).toBe(isTest)
    expect(outcomes).toHaveLength(12)
  })

  it('sends advertising, which has no sound, without an approved class', async () => {
    const shownWith = async (options: Partial<GatewayCertificate>) => {
      const { messages } = await send({ android: { sound: 'bell.mp3' } }, options)
      return messages[0]?.payload.notification
    }
    expect(await shownWith({ category: 'IM' })).toMatchObject({ category: 'IM', sound: 'bell.mp3' })
    const shown = await shownWith({})
    expect(shown).toHaveProperty('category', 'MARKETING')
    expect(shown).not.toHaveProperty('sound')
  })

  it.each([
    ['app://chat/7', { actionType: 1, uri: 'app://chat/7' }],
    ['intent:#Intent;action=com.example.OPEN;end', { actionType: 1, action: 'com.example.OPEN' }],
    ['intent:#Intent;component=com.example.app/.Chat;end', { actionType: 0 }],
  ])('opens the page of %s', async (intent, action) => {
    const { messages } = await send({ android: { clickAction: 'intent', intent } })
    const data = { hermod: { task_id: 'check', intent } }
    expect(messages[0]?.payload.notification.clickAction).toEqual({ ...action, data })
  })
})
