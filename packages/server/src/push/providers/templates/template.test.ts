import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import { probeNotification } from '../runtime/probe.js'
import { filledParameters, missingTemplate, templateOf } from './template.js'

const plain = probeNotification(0)

function certificateWith(...names: readonly string[]): GatewayCertificate {
  return {
    channel: 'vendor_o',
    environment: 'production',
    appId: '',
    appKey: '',
    appSecret: '',
    certificate: '',
    templates: names.map((name) => ({ name, id: `id of ${name}` })),
  }
}

function naming(template: string, origin: PushNotification['origin'] = 'task'): PushNotification {
  return { ...plain, origin, channels: { vendor_o: { template } } }
}

describe('the template of a notification', () => {
  it.each<[string, PushNotification, readonly string[], string | undefined]>([
    ['that it names', naming('order'), ['default', 'task', 'order'], 'order'],
    ['that of its origin', { ...plain, origin: 'group' }, ['default', 'group'], 'group'],
    ['else the default', { ...plain, origin: 'direct' }, ['group', 'default'], 'default'],
    ['else none', { ...plain, origin: 'broadcast' }, ['group', 'task'], undefined],
    ['none if the named one is missing', naming('order'), ['default', 'task'], undefined],
  ])('is %s', (_, notification, names, expected) => {
    expect(templateOf(notification, certificateWith(...names))?.name).toBe(expected)
  })

  it('is refused if the notification names one that the certificate lacks', () => {
    expect(missingTemplate(naming('order'), certificateWith('default'))).toEqual({
      kind: 'payload',
      code: 'no_template',
      reason: 'the certificate has no template with the name order',
    })
    expect(missingTemplate(naming('order'), certificateWith('order'))).toBeNull()
    expect(missingTemplate(plain, certificateWith())).toBeNull()
  })

  it('of a probe is the default, else the first', () => {
    const probed = (...names: readonly string[]) => {
      const certificate = certificateWith(...names)
      return templateOf(probeNotification(0, certificate), certificate)?.name
    }
    expect(probed('task', 'default')).toBe('default')
    expect(probed('direct', 'task')).toBe('direct')
    expect(probed()).toBeUndefined()
  })
})

describe('the values of parameters', () => {
  const values = (texts: Readonly<Record<string, unknown>>, content: Partial<PushNotification>) =>
    filledParameters(texts, { ...plain, ...content }, 20)

  it('hold what the placeholders stand for', () => {
    const content = { title: 'Alice', body: 'See {title}', ext: { order: 12, note: null } }
    const texts = { a: '{title}: {body}', b: 'No. {ext.order}', c: 'fixed', d: 'x{ext.note}y' }
    expect(values(texts, content)).toEqual({
      a: 'Alice: See {title}',
      b: 'No. 12',
      c: 'fixed',
      d: 'xy',
    })
  })

  it('have no emoji, symbols and line ends, and are never empty', () => {
    const bodies = ['Hi 👩‍👩‍👧‍👦!', '👍🏽', '5️⃣ ★ 25°C ™', ' a\n\n b ', '', '🇨🇳🇨🇳']
    expect(bodies.map((body) => values({ a: '{body}' }, { body }).a)).toEqual([
      'Hi !',
      '…',
      '5 25C',
      'a b',
      '…',
      '…',
    ])
  })

  it('lack the members of ext for users who want no details on their screens', () => {
    const hidden = { ext: { from: 'Alice' }, hidesDetails: true } as const
    expect(values({ a: '{ext.from}' }, hidden)).toEqual({ a: '…' })
  })

  it('fit the bounds for every content', () => {
    const part = fc.constantFrom(
      'a',
      ' ',
      '中',
      '😀',
      '👍🏽',
      '\ud800',
      '★',
      '\n',
      '\u0378',
      '{',
      '}',
    )
    const text = fc.string({ unit: fc.oneof(part, fc.string({ unit: 'binary', maxLength: 1 })) })
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1, max: 128 }), (title, body, max) => {
        const content = { title, body, ext: null }
        const [value = ''] = Object.values(filledParameters({ a: '{title}{body}' }, content, max))
        expect(value.trim()).not.toBe('')
        expect(value.length).toBeLessThanOrEqual(max)
        expect(value.isWellFormed()).toBe(true)
        expect(value).not.toMatch(/[\p{So}\p{Emoji_Presentation}\p{Cn}]/u)
      }),
    )
  })
})
