import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { newSecret, secretFault, signatureHeaders } from './webhook-signature.js'

const content = () => ({
  id: 'evt_app_1',
  timestamp: Math.floor(Date.now() / 1000),
  body: '{"type":"message.stored","data":{"content":"Grüße 👋"}}',
})

describe('signatures', () => {
  it('a receiver verifies them with the package standardwebhooks', () => {
    for (const secret of [newSecret(), `whsec_${Buffer.alloc(24, 7).toString('base64')}`]) {
      const request = content()
      const headers = signatureHeaders(request, [secret])
      expect(new Webhook(secret).verify(request.body, headers)).toEqual(JSON.parse(request.body))
    }
  })

  it('while a secret is changed, both the new and the previous one verify', () => {
    const secrets = [newSecret(), newSecret()]
    const request = content()
    const headers = signatureHeaders(request, secrets)
    for (const secret of secrets) new Webhook(secret).verify(request.body, headers)
    const other = new Webhook(newSecret())
    expect(() => other.verify(request.body, headers)).toThrow('No matching signature')
  })

  it('a changed body, ID or time is found out', () => {
    const secret = newSecret()
    const request = content()
    const headers = signatureHeaders(request, [secret])
    const receiver = new Webhook(secret)
    expect(() => receiver.verify(`${request.body} `, headers)).toThrow('No matching signature')
    expect(() => receiver.verify(request.body, { ...headers, 'webhook-id': 'evt_app_2' })).toThrow()
    const late = { ...headers, 'webhook-timestamp': String(request.timestamp - 3_600) }
    expect(() => receiver.verify(request.body, late)).toThrow('too old')
  })
})

describe('secrets', () => {
  const ofBytes = (count: number) => `whsec_${Buffer.alloc(count, 1).toString('base64')}`

  it.each([
    [ofBytes(24), true],
    [ofBytes(64), true],
    [newSecret(), true],
    [ofBytes(23), false],
    [ofBytes(65), false],
    ['whsec_', false],
    ['whsec_%%%', false],
    ['secret-of-enough-characters', false],
    [ofBytes(32).slice(6), false],
    ['', false],
  ])('%s as a secret of the format standard: %s', (text, isOk) => {
    expect(secretFault(text, 'standard') === null).toBe(isOk)
  })

  it.each([
    ['sixteen-letters!', true],
    ['fifteen-letters', false],
    ['with a space in it', false],
    ['nicht-druckbar-äö', false],
  ])('%s as a secret of the format callback: %s', (text, isOk) => {
    expect(secretFault(text, 'callback') === null).toBe(isOk)
  })
})
