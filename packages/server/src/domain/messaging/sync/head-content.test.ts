import { expect, it } from 'vitest'
import { PageReads } from '../reading/page-reads.js'
import { HeadContents } from './head-content.js'

/** A log whose messages have the same number as position and ID, newest first. */
function logOf(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const seq = count - index
    return {
      seq,
      messageId: seq,
      bytes: 1,
      content: 'x',
      attachment: '',
      config: '',
      ext: '',
      fields: null,
      replyToId: null,
    }
  })
}

it('newest messages: those that came after the head take the place of none', async () => {
  const messages = logOf(12)
  const upTo = (_: unknown, __: unknown, page: { upToId: number; limit: number }) =>
    messages.filter(({ messageId }) => messageId <= page.upToId).slice(0, page.limit)
  const contents = new HeadContents({
    database: { read: (run: (db: unknown) => unknown) => run(null) },
    changes: {},
    messageLog: { listSizes: upTo, page: upTo },
    pages: new PageReads(),
  } as never)
  const head = { log: {}, seq: 9, alterations: 0, latestMessageId: 9, hiddenMessageId: 0 }
  const bounds = { window: 5, maxBytes: 100_000, joinsSkipped: false }
  const [content] = await contents.fill([{ head: head as never, known: null }], bounds)
  expect(content).toMatchObject({
    kind: 'messages',
    messages: [9, 8, 7, 6, 5].map((seq) => ({ seq })),
  })
})
