/** A client of which only the logs are kept, and pages of a server that a test plays. */
import type { CoreContext } from '../../src/core/core-context.js'
import { Logs } from '../../src/core/logs/logs.js'
import { spreadMs } from '../../src/core/outcomes.js'
import type { ServerEvent, Part } from '../../src/core/part.js'
import type { LogKey } from '../../src/model/records.js'
import { History } from '../../src/core/sync/history.js'
import { Latest } from '../../src/core/sync/latest.js'
import { MissingQuotes } from '../../src/core/sync/missing-quotes.js'
import { Reads } from '../../src/core/sync/reads.js'
import { Sync } from '../../src/core/sync/sync.js'
import { CoreBench, type CoreBenchOptions } from './core-bench.js'

export const me = 5
export const log = { low_id: me, high_id: 9, is_group: false }
export const other = { low_id: me, high_id: 8, is_group: false }
export const group = { low_id: 7, high_id: 7, is_group: true }
const ignore = () => undefined

export function message(seq: number, members: object = {}) {
  return {
    ...{ conversation: log, msg_id: 100 + seq, seq, sender_id: 9, sender_device_sn: 0 },
    ...{ content_type: 0, content: `text ${seq}`, attachment: '', config: '', ext: '' },
    ...{ is_system: false, timestamp: seq, edit_timestamp: 0, ...members },
  }
}

export const stored = (change: number, seq: number) => ({
  event: 'message.stored',
  change,
  data: message(seq),
})

export function head(members: object = {}) {
  return {
    ...{ log, kind: 'direct', change: 2, seq: 2, unread: 2, read_seq: 0, delivered_seq: 0 },
    ...{ peer_read_seq: 2, peer_delivered_seq: 2, latest_msg_id: 102, hidden_msg_id: 0 },
    ...{ changes: [], ...members },
  }
}

export function page(members: object = {}) {
  return {
    ...{ epoch: 'e', pos: 'p1', list: false, heads: [], gone: [], user: [], more: false },
    ...members,
  }
}

export const newest = [message(2), message(1)]
export const list = page({ list: true, heads: [head({ messages: newest })] })

export class SyncBench extends CoreBench {
  /** What CachedReads has heard. */
  readonly heard: string[]

  static create(options: Omit<CoreBenchOptions, 'parts'> = {}): SyncBench {
    const heard: string[] = []
    const parts = (context: CoreContext): readonly Part[] => {
      const logs: Logs = new Logs(context, {
        unsent: { stored: ignore, gone: ignore, hidden: ignore },
        receipts: { received: ignore },
        streams: { stored: ignore, gone: ignore },
        headNeeded: (key, wait) => sync.headNeeded(key, wait),
        lastUnknown: (key) => latest.need(key),
        onScreen: () => sync.onScreen,
      })
      const spread = (key: LogKey) => spreadMs(context, key.startsWith('g') ? 5_000 : 0)
      const cachedReads = {
        changed: (kind: number, ref: number) => heard.push(`${kind}.${ref}`),
        allChanged: () => undefined,
        groupVersion: (groupId: number, version: number) =>
          heard.push(`group ${groupId} ${version}`),
        memberCount: () => 5_000,
      }
      const sync: Sync = new Sync(context, logs, { cachedReads, spreadMs: spread })
      const history = new History(context, logs, (key, done) => sync.needHead(key, done))
      const latest: Latest = new Latest(context, logs, { history, spreadMs: spread })
      // A test calls Sync as other parts do, within a step.
      const needHead = {
        event: ({ event }: ServerEvent) => {
          if (event === 'needHead') sync.needHead('d5.9', () => heard.push('done'))
        },
      }
      const quotes = new MissingQuotes(context, logs, spread)
      return [logs, sync, history, latest, quotes, new Reads(context, logs), needHead]
    }
    return new SyncBench({ parts, ...options }, heard)
  }

  /** A client that has a log of two messages. */
  static current(options: Omit<CoreBenchOptions, 'parts'> = {}): SyncBench {
    const bench = SyncBench.create(options)
    bench.open()
    bench.answer(bench.take('message.sync'), list)
    return bench
  }

  constructor(options: ConstructorParameters<typeof CoreBench>[0], heard: string[]) {
    super(options)
    this.heard = heard
  }

  get texts(): string[] {
    return [...this.stored.messages.values()]
      .filter(({ log: key }) => key === 'd5.9')
      .sort((a, b) => a.seq - b.seq)
      .map(({ content }) => content)
  }

  get pos(): string | undefined {
    return this.stored.meta?.pos
  }

  record(key = 'd5.9') {
    return this.stored.logs.get(key)
  }

  /** Answers reads of the store. */
  readStore(): number {
    const reads = this.effects.flatMap((each) => (each.type === 'readMessages' ? [each] : []))
    this.effects = []
    for (const { request, query } of reads) {
      const messages = [...this.stored.messages.values()]
        .filter(({ log: key }) => key === query.log)
        .filter(({ seq }) => seq >= query.fromSeq && seq <= query.toSeq)
        .sort((a, b) => b.seq - a.seq)
        .slice(0, query.limit)
      this.step({ type: 'messages', request, messages })
    }
    return reads.length
  }
}
