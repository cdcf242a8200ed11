import type { UnsentRecord } from '../../model/records.js'
import type { CoreContext } from '../core-context.js'
import { type AlteredMessage, type AlteringRecord, isAbout, isAltering } from './alterations.js'

/** The unsent entries by transaction ID; what changes is put into the batch. */
export class UnsentEntries {
  readonly #context: Pick<CoreContext, 'batch'>
  readonly #entries = new Map<number, UnsentRecord>()
  /** Keys of the entries that edit or recall a message, in the order in which they are sent. */
  readonly #altering = new Set<number>()

  constructor(context: Pick<CoreContext, 'batch'>) {
    this.#context = context
  }

  get size(): number {
    return this.#entries.size
  }

  has(transactionId: number): boolean {
    return this.#entries.has(transactionId)
  }

  get(transactionId: number): UnsentRecord | undefined {
    return this.#entries.get(transactionId)
  }

  values(): readonly UnsentRecord[] {
    return [...this.#entries.values()]
  }

  /** Adds an entry as it is stored. */
  load(entry: UnsentRecord): void {
    this.#entries.set(entry.transactionId, entry)
    if (isAltering(entry)) this.#altering.add(entry.transactionId)
  }

  put(entry: UnsentRecord): void {
    this.load(entry)
    this.#context.batch.putUnsent(entry)
  }

  delete({ transactionId }: UnsentRecord): void {
    this.#entries.delete(transactionId)
    this.#altering.delete(transactionId)
    this.#context.batch.dropUnsent(transactionId)
  }

  /** Returns the answered entries whose effect is not in the log yet. */
  sent(): readonly UnsentRecord[] {
    return this.values().filter(({ state }) => state === 'sent')
  }

  /** Returns the entries that edit or recall a message. */
  alterations(): readonly AlteringRecord[] {
    return [...this.#altering].map((id) => this.#entries.get(id) as AlteringRecord)
  }

  alterationsOf(message: AlteredMessage): readonly AlteringRecord[] {
    return this.alterations().filter((entry) => isAbout(entry, message))
  }

  /** Returns the alterations of an unsent message, which wait until it has an ID. */
  waitingFor({ transactionId: of }: UnsentRecord): readonly AlteringRecord[] {
    return this.alterationsOf({ msgId: 0, of })
  }
}
