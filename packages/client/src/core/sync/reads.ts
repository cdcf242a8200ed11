import type { CoreContext } from '../core-context.js'
import type { Command } from '../inputs.js'
import { keysOf } from '../../model/log-key.js'
import { confirmRead, foldRead, needHead, readLast } from '../logs/log-fold.js'
import type { Logs } from '../logs/logs.js'
import { callUntilAnswered } from '../outcomes.js'
import type { Part } from '../part.js'
import type { LogRecord } from '../../model/records.js'

/**
 * Reading: what the user reads is shown as read at once, kept in the records, and acknowledged
 * until the server has it.
 */
export class Reads implements Part {
  readonly #context: CoreContext
  readonly #logs: Logs
  /** Conversations whose acknowledgement is in flight. */
  readonly #inFlight = new Set<number>()

  constructor(context: CoreContext, logs: Logs) {
    this.#context = context
    this.#logs = logs
  }

  opened(): void {
    for (const { conversationId, pendingReadMsgId } of this.#logs.records())
      if (pendingReadMsgId !== undefined) this.#acknowledge(conversationId)
  }

  closed(): void {
    this.#inFlight.clear()
  }

  command(id: string, command: Command): boolean {
    if (command.type !== 'read') return false
    const { conversationId, msgId } = command
    for (const record of this.#recordsOf(conversationId))
      if (hasUnread(record, msgId)) this.#logs.fold(record.key, (fold) => foldRead(fold, msgId))
    this.#context.afterCommit(() => this.#context.emit({ type: 'result', id, value: undefined }))
    this.#acknowledge(conversationId)
    return true
  }

  #recordsOf(conversationId: number): readonly LogRecord[] {
    return keysOf(this.#context.me, conversationId).flatMap((key) => this.#logs.get(key) ?? [])
  }

  #acknowledge(conversationId: number): void {
    const pending = this.#recordsOf(conversationId).flatMap(
      ({ pendingReadMsgId }) => pendingReadMsgId ?? [],
    )
    if (pending.length === 0 || !this.#context.isOpen || this.#inFlight.has(conversationId)) return
    this.#inFlight.add(conversationId)
    const msgId = Math.max(...pending)
    const data = { conversation_id: conversationId, msg_id: msgId }
    callUntilAnswered(this.#context, 'message.ack', data, (answer) => {
      this.#inFlight.delete(conversationId)
      for (const record of this.#recordsOf(conversationId))
        this.#confirm(record, msgId, answer !== undefined)
      this.#acknowledge(conversationId)
    })
  }

  /** @param isRead false: the server refuses, so it has to say what is unread */
  #confirm({ key, last, pendingReadMsgId }: LogRecord, msgId: number, isRead: boolean): void {
    if (pendingReadMsgId === undefined || pendingReadMsgId > msgId) return
    this.#logs.fold(
      key,
      (fold) => {
        confirmRead(fold)
        if (isRead && last && last.msgId <= msgId) readLast(fold, last)
        else needHead(fold)
      },
      'numbers',
    )
  }
}

/** Tests whether reading up to a message may change something at the server. */
function hasUnread(record: LogRecord, msgId: number): boolean {
  const { unread, isHeadNeeded, readSeq, seq, pendingReadMsgId = 0 } = record
  return msgId > pendingReadMsgId && (unread > 0 || isHeadNeeded || readSeq < seq)
}
