import type { CoreContext } from '../core-context.js'
import { conversationOf } from '../../model/log-key.js'
import { callUntilAnswered } from '../outcomes.js'
import type { ServerEvent, Part } from '../part.js'
import type { LogKey, LogRecord } from '../../model/records.js'
import type { LogAccess, ReceiptsListener } from '../access.js'

/** Conversations of one call, and pushes of one call. */
const maxBatch = 100
const pauseMs = 1_000
const maxPushes = 1_000

/**
 * Confirms to the server what this device has received: messages of direct conversations once they are
 * in the store, and pushes.
 */
export class Receipts implements Part, ReceiptsListener {
  readonly #context: CoreContext
  readonly #logs: Pick<LogAccess, 'get' | 'setDelivered'>
  /** Stored positions that the server has not confirmed. */
  #stored = new Map<LogKey, number>()
  readonly #pushes = new Set<number>()
  #nextAt = 0
  /** True while a timer or a call confirms positions. */
  #isConfirming = false

  constructor(context: CoreContext, logs: Pick<LogAccess, 'get' | 'setDelivered'>) {
    this.#context = context
    this.#logs = logs
  }

  start({ logs }: { readonly logs: readonly LogRecord[] }): void {
    for (const { key, kind, last, deliveredSeq } of logs)
      if (
        kind === 'direct' &&
        last &&
        last.seq > deliveredSeq &&
        last.senderId !== this.#context.me
      )
        this.#stored.set(key, last.seq)
  }

  opened(): void {
    this.#confirmSoon()
    this.#confirmPushes()
  }

  closed(): void {
    this.#isConfirming = false
  }

  /** The history of the server is another one. Callbacks of the former one fill the former map. */
  reset(): void {
    this.#stored = new Map()
  }

  received(log: LogKey, seq: number): void {
    const stored = this.#stored
    this.#context.afterCommit(() => {
      stored.set(log, Math.max(seq, stored.get(log) ?? 0))
      this.#confirmSoon()
    })
  }

  event({ event, data }: ServerEvent): void {
    if (event !== 'push.notification') return
    const { task_id: taskId } = data as { readonly task_id: number }
    if (this.#pushes.size < maxPushes) this.#pushes.add(taskId)
    this.#confirmPushes()
  }

  #confirmSoon(): void {
    if (this.#isConfirming || this.#stored.size === 0) return
    this.#isConfirming = true
    this.#context.after('delivered', this.#nextAt - this.#context.now, () => this.#confirm())
  }

  #confirm(): void {
    const { isOpen, now, me } = this.#context
    for (const [key, seq] of this.#stored)
      if ((this.#logs.get(key)?.deliveredSeq ?? 0) >= seq) this.#stored.delete(key)
    const batch = [...this.#stored].slice(0, maxBatch)
    if (!isOpen || batch.length === 0) {
      this.#isConfirming = false
      return
    }
    this.#nextAt = now + pauseMs
    const conversations = batch.map(([key, seq]) => ({
      conversation_id: conversationOf(key, me),
      seq,
    }))
    callUntilAnswered(this.#context, 'message.delivered', { conversations }, (answer) => {
      for (const [key, seq] of batch) {
        if (this.#stored.get(key) === seq) this.#stored.delete(key)
        if (answer) this.#logs.setDelivered(key, seq)
      }
      this.#isConfirming = false
      this.#confirmSoon()
    })
  }

  #confirmPushes(): void {
    const taskIds = [...this.#pushes].slice(0, maxBatch)
    if (!this.#context.isOpen || taskIds.length === 0) return
    for (const taskId of taskIds) this.#pushes.delete(taskId)
    this.#context.call('push.received', { task_ids: taskIds }, (outcome) => {
      // Too late is no harm: the vendor's gateway brings the push as well.
      if (outcome.type === 'lost') for (const taskId of taskIds) this.#pushes.add(taskId)
      else this.#confirmPushes()
    })
  }
}
