import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import { history, send, sessions, textTo } from '../support/messaging/messaging.js'

const maxBytes = 65_536

describe.each(anyBackend())('contents of messages on $name', (backend) => {
  const server = sharedServer(backend)

  describe('the content', () => {
    it('may be empty, and may be left out beside an attachment', async () => {
      const [alice, bob] = await sessions(server, 2)
      const body = { type: 1, targets: [bob.id] }
      await expectCode(send(alice.api, { ...body, content_type: 0, content: '' }), 'ok')
      await expectCode(
        send(alice.api, { ...body, content_type: 4, attachment: '{"url":"u"}' }),
        'ok',
      )
      expect(
        (
          await send(alice.api, {
            ...body,
            content_type: 4,
            attachment: '{"url":"u"}',
            content: null,
          })
        ).code,
      ).toBe(200)
      expect(
        (await history(bob.api, alice.id)).map(({ content, attachment }) => [content, attachment]),
      ).toEqual([
        ['', '{"url":"u"}'],
        ['', '{"url":"u"}'],
        ['', ''],
      ])
    })

    it('comes back byte for byte, however hostile', async () => {
      const [alice, bob] = await sessions(server, 2)
      const texts = [
        `'; drop table messages; --`,
        `"\\" \\u0000 \\n $1 ?1 :x @x %s \${x} {{x}} <script>alert(1)</script>`,
        '\u0001\b\t\n\v\f\r\u001b\u007f\u0085',
        '\ufeffBOM in front, \u200e\u202e\u2066 turned, \u2028 and \u2029 lines',
        'é e\u0301 \uac00 \u1100\u1161 ﬁ İ ı ß Σς',
        '\u{1F469}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466} \u{1F1E9}\u{1F1EA} \u{20000} \u{10FFFD}',
        '\ufffd\ufffe\uffff\u{1fffe}',
        '9007199254740993 -9223372036854775808 1e400 0.1000000000000000055511151231257827',
        '{"a":12345678901234567890,"__proto__":{"x":1},"constructor":[]}',
        ' leading and trailing \n',
        'null',
      ]
      for (const text of texts)
        await alice.api.succeed('POST', '/message/send', {
          body: textTo([bob.id], text, { attachment: text, config: text, ext: text }),
        })
      const messages = (await history(bob.api, alice.id)).toReversed()
      expect(messages).toHaveLength(texts.length)
      for (const [index, text] of texts.entries())
        for (const field of ['content', 'attachment', 'config', 'ext'] as const)
          expect(Buffer.from(messages[index]?.[field] ?? '').toString('hex')).toBe(
            Buffer.from(text).toString('hex'),
          )
    })
  })

  describe('the size', () => {
    it(`of content, attachment, config and ext together is at most ${maxBytes} bytes`, async () => {
      const [alice, bob] = await sessions(server, 2)
      const quarter = 'x'.repeat(maxBytes / 4)
      const texts = { attachment: quarter, config: quarter, ext: quarter }
      await expectCode(send(alice.api, textTo([bob.id], quarter, texts)), 'ok')
      for (const field of ['content', 'attachment', 'config', 'ext'])
        await expectCode(
          send(alice.api, { ...textTo([bob.id], quarter, texts), [field]: `${quarter}x` }),
          'message_too_large',
        )
      const [message, ...others] = await history(bob.api, alice.id)
      expect(others).toEqual([])
      expect(message).toMatchObject({ content: quarter, ...texts })
    })

    it('is counted in bytes of UTF-8, not in characters', async () => {
      const [alice, bob] = await sessions(server, 2)
      const threeBytes = '€'.repeat(Math.floor(maxBytes / 3))
      expect(Buffer.byteLength(threeBytes)).toBe(maxBytes - 1)
      await expectCode(send(alice.api, textTo([bob.id], `${threeBytes}x`)), 'ok')
      await expectCode(send(alice.api, textTo([bob.id], `${threeBytes}é`)), 'message_too_large')
      await expectCode(send(alice.api, textTo([bob.id], '\u{1F600}'.repeat(maxBytes / 4))), 'ok')
      await expectCode(
        send(alice.api, textTo([bob.id], '\u{1F600}'.repeat(maxBytes / 4 + 1))),
        'message_too_large',
      )
      expect(await history(bob.api, alice.id)).toHaveLength(2)
    })

    it('of escaped text is that of the text', async () => {
      const [alice, bob] = await sessions(server, 2)
      const rawBody = JSON.stringify(textTo([bob.id], '')).replace(
        '"content":""',
        `"content":"${'\\u0061'.repeat(maxBytes)}"`,
      )
      await expectCode(alice.api.call('POST', '/message/send', { rawBody }), 'ok')
      expect((await history(bob.api, alice.id))[0]?.content).toBe('a'.repeat(maxBytes))
    })
  })
})
