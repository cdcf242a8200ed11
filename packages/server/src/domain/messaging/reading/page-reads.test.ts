import { describe, expect, it } from 'vitest'
import type { HistoryMessage } from '../model/message-model.js'
import { HistoryService } from './history-service.js'
import { LogHistoryService } from './log-history-service.js'
import { fitting, maxSyncBytes, PageReads } from './page-reads.js'

const sizesOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ messageId: count - index, seq: count - index, bytes },
  }))

describe('pages', () => {
  it('pages: have the messages that fit, and at least one', () => {
    expect(fitting(sizesOf(3, 600), 3_000)).toEqual({ count: 3, bytes: 3_000 })
    expect(fitting(sizesOf(4, 600), 3_000)).toEqual({ count: 3, bytes: 3_000 })
    expect(fitting(sizesOf(2, 600), 10)).toEqual({ count: 1, bytes: 1_000 })
    expect(fitting([], 10)).toEqual({ count: 0, bytes: 0 })
  })

  it('pages: messages that do not fit are not read', async () => {
    const limits: number[] = []
    const content = 'x'.repeat(60_000)
    const service = new LogHistoryService({
      database: { read: (run: (db: unknown) => unknown) => run(null) },
      store: { findState: async () => ({ seq: 100, hiddenMessageId: 0 }) },
      finder: { requireReader: async () => ({}) },
      messageLog: {
        listSizes: async () => sizesOf(100, content.length),
        page: async (_: unknown, __: unknown, { limit }: { readonly limit: number }) => {
          limits.push(limit)
          return sizesOf(100, 0)
            .slice(0, limit)
            .map((size) => ({
              ...size,
              content,
              attachment: '',
              config: '',
              ext: '',
              fields: null,
              replyToId: null,
            }))
        },
      },
      pages: new PageReads(),
      state: { isServing: true },
    } as never)
    const bounds = { beforeSeq: 0, limit: 100, maxBytes: maxSyncBytes }
    const page = await service.messagesBefore({} as never, {} as never, bounds)
    expect(page.messages).toHaveLength(4)
    expect(limits).toEqual([4])
  })

  it('pages: a message that is stored between the two reads takes the place of no other', async () => {
    const stored = [1, 2, 3]
    const list = ({ upToId, limit }: { readonly upToId: number; readonly limit: number }) =>
      stored
        .filter((messageId) => messageId <= upToId)
        .sort((a, b) => b - a)
        .slice(0, limit)
        .map((messageId) => ({
          ...{ messageId, seq: messageId, bytes: 1, senderId: 2 },
          ...{ content: 'x', attachment: '', config: '', ext: '', fields: null, replyToId: null },
        }))
    const service = new HistoryService({
      database: { read: (run: (db: unknown) => unknown) => run(null) },
      finder: {
        find: async () => ({}),
        requireReader: async () => ({ userId: 1 }),
        findStream: async () => null,
      },
      messageLog: {
        async listSizes(_: unknown, __: unknown, page: Parameters<typeof list>[0]) {
          const sizes = list(page)
          stored.push(4, 5)
          return sizes
        },
        page: async (_: unknown, __: unknown, page: Parameters<typeof list>[0]) => list(page),
      },
      pages: new PageReads(),
      state: { isServing: true },
    } as never)
    const reader = { appId: 'a', userId: 1, deviceSn: null, adminOf: null }
    const page = await service.read(reader as never, 2, { startId: 0, limit: 20 })
    expect(page.messages.map(({ messageId }) => messageId)).toEqual([3, 2, 1])
    expect(page.nextMessageId).toBe(null)
  })

  it('pages: four large ones are read at once, and small ones beside them', async () => {
    const pages = new PageReads()
    const begun: string[] = []
    const ends: (() => void)[] = []
    const read = (name: string) => () => {
      begun.push(name)
      return new Promise<HistoryMessage[]>((resolve) => ends.push(() => resolve([])))
    }
    const large = Array.from({ length: 6 }, () => pages.run(maxSyncBytes / 4 + 1, read('large')))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    const small = pages.run(1_000, read('small'))
    await new Promise(setImmediate)
    expect(begun).toEqual(['large', 'large', 'large', 'large', 'small'])
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end()
      await new Promise(setImmediate)
      await new Promise(setImmediate)
    }
    await Promise.all([...large, small])
    expect(begun).toHaveLength(7)
  })
})
