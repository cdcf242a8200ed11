import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PushNotification } from '../../notification.js'
import { ContentNotes } from './content-notes.js'
import { fit } from './fit.js'
import { requestBytes } from './requests.js'

const words = fc.string({
  unit: fc.constantFrom('a', 'é', '中', '😀'),
  minLength: 1,
  maxLength: 200,
})

const contents = fc.record({
  title: words,
  body: words,
  bigText: fc.oneof(fc.constant(''), words),
  ext: fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), words, { maxKeys: 5 }),
})

function notification(content: Partial<PushNotification>): PushNotification {
  return {
    origin: 'direct',
    kind: 'text',
    title: '',
    body: '',
    bigText: '',
    attachmentUrl: '',
    badge: null,
    ext: null,
    expiresAt: 0,
    priority: 'high',
    isSilent: false,
    collapseKey: null,
    deduplicationId: '1',
    taskId: '1',
    receiptTag: '',
    ios: {},
    android: {},
    channels: {},
    ...content,
  }
}

function build({ title, body, bigText, ext }: PushNotification) {
  return { title, body, bigText, ext }
}

describe('fit', () => {
  it('never builds more than the limit, and cuts texts between characters', () => {
    fc.assert(
      fc.property(contents, fc.integer({ min: 0, max: 1500 }), (content, maxBytes) => {
        const message = fit(notification(content), build, {
          sizeOf: requestBytes,
          maxBytes,
          notes: new ContentNotes(),
        })
        if (message === null) return
        expect(requestBytes(message)).toBeLessThanOrEqual(maxBytes)
        for (const field of ['title', 'body', 'bigText'] as const) {
          expect(content[field].startsWith(message[field])).toBe(true)
          expect(message[field].isWellFormed()).toBe(true)
        }
      }),
    )
  })

  it('changes nothing that fits', () => {
    fc.assert(
      fc.property(contents, (content) => {
        const message = fit(notification(content), build, {
          sizeOf: requestBytes,
          maxBytes: 100_000,
          notes: new ContentNotes(),
        })
        expect(message).toEqual(content)
      }),
    )
  })

  it('cuts the long text first, then the body, then the title', () => {
    const content = { title: 'title', body: 'body', bigText: 'long' }
    const sizeOf = ({ title, body, bigText }: ReturnType<typeof build>) =>
      title.length + body.length + bigText.length
    const textsOf = (maxBytes: number) => {
      const message = fit(notification(content), build, {
        sizeOf,
        maxBytes,
        notes: new ContentNotes(),
      })
      return message && [message.title, message.body, message.bigText]
    }
    expect([13, 11, 8, 6, 4, 2, 1].map(textsOf)).toEqual([
      ['title', 'body', 'long'],
      ['title', 'body', 'lo'],
      ['title', 'bod', ''],
      ['title', 'b', ''],
      ['tit', 'b', ''],
      ['t', 'b', ''],
      null,
    ])
  })

  it('leaves out members of ext from the last one on, when the texts are as short as they may be', () => {
    const content = { title: 'tt', body: 'bb', ext: { a: 'x', b: 'y', c: 'z' } }
    const sizeOf = ({ title, body, ext }: ReturnType<typeof build>) =>
      title.length + body.length + 10 * Object.keys(ext ?? {}).length
    expect(
      fit(notification(content), build, { sizeOf, maxBytes: 25, notes: new ContentNotes() })?.ext,
    ).toEqual({
      a: 'x',
      b: 'y',
    })
    expect(
      fit(notification(content), build, { sizeOf, maxBytes: 2, notes: new ContentNotes() })?.ext,
    ).toEqual({})
    expect(
      fit(notification(content), build, { sizeOf, maxBytes: 1, notes: new ContentNotes() }),
    ).toBeNull()
  })

  it('notes the members that are left out, and the texts that are shortened', () => {
    const content = { title: 'tt', body: 'bb', bigText: 'll', ext: { a: 'x', b: 'y' } }
    const sizeOf = ({ title, body, bigText, ext }: ReturnType<typeof build>) =>
      title.length + body.length + bigText.length + 10 * Object.keys(ext ?? {}).length
    const changesOf = (maxBytes: number) => {
      const notes = new ContentNotes()
      fit(notification(content), build, { sizeOf, maxBytes, notes })
      return notes.changes
    }
    expect(changesOf(26)).toEqual([])
    expect(changesOf(23)).toEqual(['big_text shortened', 'body shortened'])
    expect(changesOf(16)).toEqual(['ext.b left out'])
    expect(changesOf(2)).toEqual([
      'ext.a left out',
      'ext.b left out',
      'big_text shortened',
      'body shortened',
      'title shortened',
    ])
  })
})
