import { describe, expect, it } from 'vitest'
import { groupConversation } from '../model/conversation-model.js'
import type { AnsweredMessage } from '../model/message-model.js'
import { QuoteService } from './quote-service.js'

const conversation = groupConversation('app', 50)
const message = (messageId: number, replyToId: number | null = null): AnsweredMessage => ({
  conversation,
  message: { messageId, replyToId, fields: null },
})

describe('QuoteService', () => {
  /** The replies of each statement about an answer that holds these messages. */
  async function statementsFor(messages: readonly AnsweredMessage[], userId: number | null = 1) {
    const statements: unknown[] = []
    const quote = { seq: 1, state: 'hidden', senderId: null, contentType: null, excerpt: null }
    const list = (kind: string, replies: readonly AnsweredMessage[]) => {
      statements.push([kind, replies.map((each) => each.message.messageId)])
      return replies.map((each) => ({ ...quote, messageId: each.message.replyToId as number }))
    }
    const service = new QuoteService({
      database: { read: (work: (db: unknown) => unknown) => work(null) } as never,
      store: {
        listQuotes: async (_db: unknown, _user: unknown, replies: readonly AnsweredMessage[]) =>
          list('user', replies),
        listQuotesOfAll: async (_db: unknown, replies: readonly AnsweredMessage[]) =>
          list('all', replies),
      } as never,
    })
    const quotes = await service.list({ appId: 'app', userId }, messages)
    return { statements, originals: quotes.map(({ messageId }) => messageId) }
  }

  it('takes no statement where no message is a reply, or the originals are in the answer', async () => {
    expect(await statementsFor([message(1), message(2)])).toEqual({ statements: [], originals: [] })
    expect((await statementsFor([message(1), message(2, 1)])).statements).toEqual([])
  })

  it('takes one for all replies of an answer, with each original once, in the order of the log', async () => {
    const answer = [message(30, 20), message(31, 5), message(32, 20), message(33), message(34, 33)]
    expect(await statementsFor(answer)).toEqual({
      statements: [['user', [32, 31]]],
      originals: [5, 20],
    })
    expect((await statementsFor(answer, null)).statements).toEqual([['all', [32, 31]]])
  })
})
