import type { Command } from '../../src/core/inputs.js'
import type { LogKey, LogRecord, MessageRecord, UnsentRecord } from '../../src/model/records.js'
import type { LogAccess } from '../../src/core/access.js'
import { emptyLog } from '../../src/core/logs/log-fold.js'
import { Unsent } from '../../src/core/unsent/unsent.js'
import { CoreBench, type CoreBenchOptions } from './core-bench.js'

/** The log that the bench begins with. */
export const log: LogRecord = { ...emptyLog('d5.9', 5), change: 7, seq: 4 }

/** Unsent with logs that the test sets. */
export class UnsentBench extends CoreBench {
  static create(options: Partial<CoreBenchOptions> = {}): UnsentBench {
    const made: { unsent?: Unsent } = {}
    const logs = new Map<LogKey, LogRecord>([[log.key, log]])
    const heads: { readonly key: LogKey; readonly done: (() => void) | undefined }[] = []
    const access: LogAccess = {
      get: (key) => logs.get(key),
      needHead: (key, done) => heads.push({ key, done }),
      setDelivered: () => undefined,
    }
    const parts: CoreBenchOptions['parts'] = (context) => {
      made.unsent = new Unsent(context, access)
      return [
        made.unsent,
        // A test calls Unsent as Logs does, within a step.
        {
          event: ({ event, data }) => {
            if (event === 'stored') made.unsent?.stored(data as MessageRecord)
            else if (event === 'gone') made.unsent?.gone('d5.9', (data as MessageRecord).msgId)
            else if (event === 'hidden') made.unsent?.hidden('d5.9', (data as MessageRecord).msgId)
            else if (event === 'dropped') made.unsent?.hidden('d5.9', Infinity)
            else if (event === 'head') heads.shift()?.done?.()
          },
        },
      ]
    }
    return Object.assign(new UnsentBench({ ...options, parts }), { logs, heads })
  }
  logs!: Map<LogKey, LogRecord>
  heads!: { readonly key: LogKey }[]

  send(transactionId: number, changes: Partial<Extract<Command, { type: 'send' }>> = {}): string {
    const content = { contentType: 0, content: 'hi', attachment: '', config: '', ext: '' }
    return this.command({
      type: 'send',
      transactionId,
      conversationId: 9,
      isGroup: false,
      content,
      createdAt: 1,
      ...changes,
    })
  }

  alter(transactionId: number, changes: Partial<Extract<Command, { type: 'alter' }>> = {}): string {
    return this.command({
      type: 'alter',
      transactionId,
      conversationId: 9,
      isGroup: false,
      kind: 'edit',
      msgId: 0,
      ...(changes.kind !== 'recall' && { text: 'edited', seenEdit: 0 }),
      createdAt: 1,
      ...changes,
    })
  }

  get entries(): readonly UnsentRecord[] {
    return [...this.stored.unsent.values()]
  }

  get states(): string {
    return this.entries.map(({ transactionId, state }) => `${transactionId} ${state}`).join(', ')
  }

  accept(msgId: number): void {
    this.answer(this.take('message.send'), true, { msg_ids: [msgId] })
  }
}
