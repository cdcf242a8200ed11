/** The scripts of the page that need no page. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { indented, requestOf } from '../../../../assets/docs/request.js'
import { bestOf, excerpt, searchIn, wordsOf } from '../../../../assets/docs/search.js'

const entries = [
  {
    anchor: 'message.send',
    names: 'POST /message/send message.send',
    summary: 'Sends a message.',
    parts: [
      { anchor: 'a', kind: 'body', name: 'targets', text: 'receivers' },
      { anchor: 'b', kind: 'error', name: '13004', text: 'blocked: the receiver blocks you' },
    ],
  },
  {
    anchor: 'message.get',
    names: 'GET /message/get message.get',
    summary: 'Reads a message.',
    parts: [{ anchor: 'c', kind: 'answer', name: 'data.targets', text: 'who has got it' }],
  },
  {
    anchor: 'error-13004',
    names: '13004',
    summary: '',
    parts: [{ anchor: 'error-13004', kind: '', name: 'blocked_by_recipient', text: 'blocks' }],
  },
]
const search = searchIn(entries)
const found = (query: string) => {
  const hits = search(wordsOf(query))
  const hit = hits[bestOf(hits)]
  return hit ? [entries[bestOf(hits)]?.anchor, hit.part?.anchor ?? null] : null
}

describe('the search', () => {
  it.each([
    ['/message/get', ['message.get', null]],
    ['reads', ['message.get', null]],
    ['targets', ['message.send', 'a']],
    ['targets get', ['message.get', 'c']],
    ['got message', ['message.get', 'c']],
    ['13004', ['error-13004', null]],
    ['blocked_by', ['error-13004', 'error-13004']],
    ['send blocks', ['message.send', 'b']],
    ['nothing', null],
  ])('finds the best place of: %s', (query, place) => {
    expect(found(query)).toEqual(place)
  })

  it('hits exactly the entries with all words', () => {
    const text = fc.stringMatching(/^[ab/ ]{0,6}$/)
    const part = fc.record({ anchor: text, kind: text, name: text, text })
    const entry = fc.record({ anchor: text, names: text, summary: text, parts: fc.array(part) })
    fc.assert(
      fc.property(fc.array(entry), text, (list, query) => {
        const words = wordsOf(query)
        const model = list.map(({ names, summary, parts }) => {
          const texts = [names, summary, ...parts.flatMap((each) => [each.name, each.text])]
          return words.every((word) => texts.some((each) => each.includes(word)))
        })
        expect(searchIn(list)(words).map((hit) => hit !== null)).toEqual(model)
      }),
    )
  })

  it('an excerpt is a piece of the text with the word in the middle', () => {
    expect(excerpt('The receiver blocks you', ['block'])).toEqual([
      'The receiver ',
      'block',
      's you',
    ])
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), (text, word) => {
        const [before, middle, after] = excerpt(text, [word.toLowerCase()])
        if (middle !== '') expect(middle.toLowerCase()).toBe(word.toLowerCase())
        expect(text).toContain(`${before.replace('…', '')}${middle}${after.replace('…', '')}`)
      }),
    )
  })
})

describe('the request of a form', () => {
  const call = { method: 'POST', path: '/message/send', headers: [], query: [], values: {} }
  const input = { headers: { app_id: ' shop ', 'access-token': 'hmu_x\n', user_id: '' }, query: {} }

  it('has credentials in headers only, and goes nowhere else', () => {
    const { url, init } = requestOf(
      'https://chat.example.org/im',
      { ...call, token: 'user', body: '{}' },
      { ...input, query: { limit: '5', cursor: '', name: 'a&b' }, body: '{"id":9007199254740993}' },
    )
    expect(url).toBe('https://chat.example.org/im/message/send?limit=5&name=a%26b')
    expect(init).toEqual({
      method: 'POST',
      headers: { app_id: 'shop', 'access-token': 'hmu_x', 'content-type': 'application/json' },
      body: '{"id":9007199254740993}',
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    })
  })

  it('has the file of an upload as a form', () => {
    const form = { ...call, token: null, file: true as const }
    const { init } = requestOf('', form, { ...input, file: new Blob(['x']) })
    expect((init as { body: FormData }).body.get('file')).toBeInstanceOf(Blob)
  })

  it('refuses a body that is no JSON', () => {
    expect(() =>
      requestOf('', { ...call, token: null, body: '' }, { ...input, body: '{' }),
    ).toThrow('The body is not JSON: ')
  })

  it('shows answers with all digits, and changes nothing but space', () => {
    expect(indented('{"id":9007199254740993,"a":[],"b":{"c":[1,2]},"d":"x, \\"{"}')).toBe(
      '{\n  "id": 9007199254740993,\n  "a": [],\n  "b": {\n    "c": [\n      1,\n      2\n    ]\n  },\n  "d": "x, \\"{"\n}',
    )
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(indented(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
      }),
    )
  })
})
