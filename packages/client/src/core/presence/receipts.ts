import { backOffMs } from '../back-off.js'
import type { CoreContext } from '../core-context.js'
import { conversationOf } from '../log-key.js'
import { isRepeated } from '../outcomes.js'
import type { EventFrame, Part } from '../part.js'
import type { LogKey, LogRecord } from '../records.js'
import type { LogAccess, ReceiptsListener } from '../seams.js'

/** Conversations of one call, and pushes of one call. */
const maxBatch = 100
const pauseMs = 1_000
const maxPushes = 1_000

/**
 * Tells the server what this device has received: messages of direct conversations once they are
 * in the store, and pushes.
 */
export class Receipts implements Part, ReceiptsListener {
  readonly #context: CoreContext
  readonly #logs: Pick<LogAccess, 'get' | 'setDelivered'>
  /** Stored positions that the server has not confirmed. */
  readonly #stored = new Map<LogKey, number>()
  /** Positions of the batch with this commit number. */
  #pending = new Map<LogKey, number>()
  #pendingCommit = -1
  readonly #pushes = new Set<number>()
  #nextAt = 0
  #failures = 0

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

  reset(): void {
    this.#stored.clear()
    this.#pending.clear()
  }

  received(log: LogKey, seq: number): void {
    const { commit } = this.#context.batch.meta
    if (this.#pendingCommit !== commit) {
      const pending = new Map<LogKey, number>()
      this.#pending = pending
      this.#pendingCommit = commit
      this.#context.afterCommit(() => {
        for (const [key, each] of pending)
          this.#stored.set(key, Math.max(each, this.#stored.get(key) ?? 0))
        this.#confirmSoon()
      })
    }
    this.#pending.set(log, Math.max(seq, this.#pending.get(log) ?? 0))
  }

  event({ event, data }: EventFrame): void {
    if (event !== 'push.notification') return
    const { task_id: taskId } = data as { readonly task_id: number }
    if (this.#pushes.size < maxPushes) this.#pushes.add(taskId)
    this.#confirmPushes()
  }

  #confirmSoon(): void {
    const ms = Math.max(0, this.#nextAt - this.#context.now)
    if (this.#stored.size > 0) this.#context.after('delivered', ms, () => this.#confirm())
  }

  #confirm(): void {
    if (!this.#context.isOpen) return
    const batch: [LogKey, number][] = []
    for (const [key, seq] of this.#stored) {
      if (batch.length >= maxBatch) break
      if ((this.#logs.get(key)?.deliveredSeq ?? 0) >= seq) this.#stored.delete(key)
      else batch.push([key, seq])
    }
    if (batch.length === 0) return
    this.#nextAt = this.#context.now + pauseMs
    const conversations = batch.map(([key, seq]) => ({
      conversation_id: conversationOf(key, this.#context.me),
      seq,
    }))
    this.#context.call('message.delivered', { conversations }, (outcome) => {
      if (outcome.type === 'lost') return
      if (outcome.type === 'failure' && isRepeated(outcome.failure)) {
        const { retryAfterMs } = outcome.failure
        this.#nextAt =
          this.#context.now + (retryAfterMs ?? backOffMs(this.#context, this.#failures++))
      } else {
        this.#failures = 0
        for (const [key, seq] of batch) {
          if (this.#stored.get(key) === seq) this.#stored.delete(key)
          if (outcome.type === 'answer') this.#logs.setDelivered(key, seq)
        }
      }
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
