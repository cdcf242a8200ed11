import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api, ServerProcess, Session } from '@hermod/testkit'
import { answerCode } from './answer-codes.js'
import type { MessageLedger, Send } from './messaging/message-ledger.js'
import type { Random } from './random.js'

export interface TrafficOptions {
  readonly users: readonly Session[]
  readonly ledger: MessageLedger
  readonly random: Random
  /**
   * What a storage failure says: that nothing is stored, or, where the answer of a commit can be
   * lost on its way, nothing certain.
   */
  readonly onStorageFailure: 'refused' | 'unknown'
}

const senders = 16
const retryPauseMs = 50

/** Many users who send to each other at the same time. */
export class Traffic {
  /** Storage failures that were answered as they must be. */
  failures = 0
  /** Sends that were answered with success, repeats not counted. */
  answered = 0
  /** Sends that were made again with their transaction_id. */
  repeated = 0
  readonly #options: TrafficOptions
  /** Anything but success, a storage failure and a cut connection. */
  readonly #surprises: string[] = []
  #isStopping = false
  #running: Promise<unknown> = Promise.resolve()
  /** While set, a success of a send that began under it is a false one. */
  #outage: object | null = null

  constructor(options: TrafficOptions) {
    this.#options = options
  }

  start(server: ServerProcess): void {
    this.#isStopping = false
    this.#running = Promise.all(
      Array.from({ length: senders }, () => this.#sendOnAndOn(server.api)),
    )
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
    this.check()
  }

  /** The store is known to be out of order until the returned function is called. */
  beginOutage(): () => void {
    const outage = {}
    this.#outage = outage
    return () => {
      this.#outage = null
    }
  }

  /** @throws Error naming what no send may be answered with */
  check(): void {
    if (this.#surprises.length > 0)
      throw new Error(
        `${this.#surprises.length} surprises:\n${this.#surprises.slice(0, 10).join('\n')}`,
      )
  }

  /** Makes sends again with their transaction_ids, all at once. */
  async repeat(api: Api, sends: readonly Send[]): Promise<void> {
    this.repeated += sends.length
    await Promise.all(sends.map((send) => this.#post(api, send)))
    this.check()
  }

  async #sendOnAndOn(api: Api): Promise<void> {
    while (!this.#isStopping) {
      const send = this.#next()
      const isTwice = send.transactionId !== null && this.#options.random.chance(0.1)
      if (isTwice) this.repeated++
      await Promise.all([this.#post(api, send), ...(isTwice ? [this.#post(api, send)] : [])])
      if (send.outcome === 'answered') this.answered++
      else await sleep(retryPauseMs)
    }
  }

  #next(): Send {
    const { users, ledger, random } = this.#options
    const sender = random.pick(users)
    const others = users.filter((user) => user !== sender)
    const targets = random.chance(0.1) ? others.map((user) => user.id) : [random.pick(others).id]
    return ledger.open(sender.id, targets, random.chance(0.85))
  }

  async #post(api: Api, send: Send): Promise<void> {
    const { users } = this.#options
    const outage = this.#outage
    const token = users.find((user) => user.id === send.senderId)?.token ?? ''
    const { label, targets, transactionId } = send
    const body = {
      content: label,
      content_type: 0,
      type: 1,
      targets,
      ...(transactionId === null ? {} : { transaction_id: transactionId }),
    }
    const answer = await api
      .as(token)
      .call('POST', '/message/send', { body })
      .catch((error: NodeJS.ErrnoException) => error)
    if (answer instanceof Error) return this.#cut(send, answer)
    if (answer.status === 200 && answer.code === 200) {
      if (outage !== null && outage === this.#outage)
        this.#surprise(send, `success without a store: ${answer.text}`)
      this.#succeeded(send, answer)
    } else this.#failed(send, answer)
  }

  #succeeded(send: Send, { envelope }: Answer): void {
    try {
      this.#options.ledger.answered(send, envelope.msg_ids)
    } catch (error) {
      this.#surprise(send, (error as Error).message)
    }
  }

  /** Whether the message was stored is as unknown as before. */
  #cut(send: Send, error: NodeJS.ErrnoException): void {
    if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(error.code ?? ''))
      this.#surprise(send, String(error))
  }

  #failed(send: Send, answer: Answer): void {
    const isAsDeclared =
      answer.status === 503 &&
      answer.code === answerCode.storage_failed &&
      Number(answer.headers['retry-after']) > 0
    if (isAsDeclared) this.failures++
    else this.#surprise(send, `HTTP ${answer.status} ${answer.text}`)
    // The other of two equal sends may have been answered already.
    if (isAsDeclared && send.outcome === 'unknown') send.outcome = this.#options.onStorageFailure
  }

  #surprise(send: Send, what: string): void {
    this.#surprises.push(`${send.label}: ${what}`)
  }
}
