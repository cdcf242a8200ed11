import { AppError } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import { isSignedByVendorH, isTestOfAddress } from '../../../push/receipts/kit.js'
import { parseReceipts, receiptAnswer } from '../../../push/receipts/parse.js'
import {
  type PushReceipt,
  type ReceiptChannel,
  ReceiptError,
  receiptChannels,
} from '../../../push/receipts/receipt.js'
import { isSentByVendorF } from '../../../push/receipts/vendor-f.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import {
  compareDeliveries,
  type Delivery,
  deliveryName,
  readReceiptTag,
  tokenHash,
} from '../deliveries/delivery-model.js'
import { withSteps } from '../deliveries/delivery-step.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { CountChange } from '../tasks/task-statements.js'
import type { TaskStore } from '../tasks/task-store.js'
import {
  type Confirmation,
  type ConfirmationResult,
  canBeConfirmed,
  confirmed,
  receivedOf,
} from './confirmation.js'
import type { ReceiptTokens } from './receipt-tokens.js'

/** The certificate of a receipt address. */
export interface ReceiptSource {
  readonly appId: string
  readonly certificate: Pick<PushCertificateEntry, 'certificateId' | 'name' | 'receiptProof'>
}

/** Finds receipt addresses. */
export interface ReceiptAddresses {
  /**
   * @param text part of the path after the channel
   * @returns null when no certificate has this address
   */
  findByReceiptPath(channel: string, text: string): Promise<ReceiptSource | null>
}

/** `unknown`: of no stored delivery. Otherwise the effect of the receipt. */
export type ReceiptResult = ConfirmationResult | 'unknown'

/** Observer of receipts, for metrics and log. */
export interface ReceiptObserver {
  /** Counts receipts of a channel by their effect. */
  counted(
    channel: ReceiptChannel,
    result: ReceiptResult | 'refused' | 'malformed',
    count: number,
  ): void
  /** Reports a receipt without a delivery. */
  unknown(source: ReceiptSource, receipt: PushReceipt): void
}

interface ReceiptServiceOptions {
  readonly database: Database
  readonly addresses: ReceiptAddresses
  readonly deliveries: DeliveryStore
  readonly tasks: TaskStore
  readonly tokens: ReceiptTokens
  readonly observer: ReceiptObserver
  readonly clock: Clock
}

/** The request with receipts. */
export interface GatewayReceiptRequest {
  readonly body: string
  /** The header with vendor_h's signature; "" without it. */
  readonly signature: string
}

/** @returns the answer; null: the request is not the vendor's */
export type TakeReceipts = (request: GatewayReceiptRequest) => Promise<string | null>

/** A receipt and its delivery. */
interface Match {
  readonly receipt: PushReceipt
  readonly delivery: Delivery
}

/** Receipts per transaction. */
const receiptsPerTransaction = 1_000

/**
 * Handles the receipts of gateways. Each device counts once, also with late, repeated or foreign
 * receipts (rule G1). Reports about tokens affect only the token that was sent (rule G8).
 */
export class ReceiptService {
  constructor(private readonly options: ReceiptServiceOptions) {}

  /** Returns the handler of an address, or null. */
  async find(channel: string, text: string): Promise<TakeReceipts | null> {
    if (!isReceiptChannel(channel)) return null
    const source = await this.options.addresses.findByReceiptPath(channel, text)
    if (source === null) this.options.observer.counted(channel, 'refused', 1)
    return source && ((request) => this.#take(channel, source, request))
  }

  /** @throws AppError malformed_request; then nothing is stored */
  async #take(
    channel: ReceiptChannel,
    source: ReceiptSource,
    request: GatewayReceiptRequest,
  ): Promise<string | null> {
    const { observer, clock } = this.options
    if (!isProved(channel, source, request, clock.now())) {
      observer.counted(channel, 'refused', 1)
      return null
    }
    for (const receipts of chunksOf(this.#parse(channel, request), receiptsPerTransaction)) {
      const results = await this.#apply(channel, source, receipts)
      for (const [result, count] of results) observer.counted(channel, result, count)
    }
    return receiptAnswer(channel)
  }

  #parse(channel: ReceiptChannel, { body }: GatewayReceiptRequest): PushReceipt[] {
    try {
      return parseReceipts(channel, body)
    } catch (error) {
      if (!(error instanceof ReceiptError)) throw error
      this.options.observer.counted(channel, 'malformed', 1)
      throw new AppError('malformed_request', error.message, { cause: error })
    }
  }

  /** @returns the number of receipts by effect */
  async #apply(
    channel: ReceiptChannel,
    source: ReceiptSource,
    receipts: readonly PushReceipt[],
  ): Promise<ReadonlyMap<ReceiptResult, number>> {
    const { database, observer, clock } = this.options
    const now = clock.now()
    const matches = await this.#match(channel, source, receipts)
    const found = new Set(matches.map(({ receipt }) => receipt))
    for (const receipt of receipts) if (!found.has(receipt)) observer.unknown(source, receipt)
    const about = { certificate: source.certificate.name, now }
    const news = matches.filter(
      ({ delivery, receipt }) =>
        confirmed(delivery, confirmationOf(receipt, about)).result !== 'repeated',
    )
    // A repetition costs no transaction.
    const effects =
      news.length === 0
        ? { received: 0, noted: 0 }
        : await database.transaction((tx) => this.#record(tx, source, news, now))
    return new Map<ReceiptResult, number>([
      ['received', effects.received],
      ['noted', effects.noted],
      ['repeated', matches.length - effects.received - effects.noted],
      ['unknown', receipts.length - matches.length],
    ])
  }

  /** Groups receipts by delivery: of the task, to the token, through this certificate. */
  async #match(
    channel: ReceiptChannel,
    { appId, certificate }: ReceiptSource,
    receipts: readonly PushReceipt[],
  ): Promise<Match[]> {
    const { database, deliveries } = this.options
    const named = receipts.flatMap((receipt) => {
      const tag = readReceiptTag(receipt.tag)
      return tag === null ? [] : [{ receipt, ...tag, tokenHash: tokenHash(receipt.token) }]
    })
    const wanted = new Map(named.map((each) => [tokenName(each), each]))
    const found = await database.read((db) =>
      deliveries.listByTokens(db, appId, [...wanted.values()]),
    )
    const sent = found.filter(
      (delivery) =>
        delivery.channel === channel &&
        delivery.certificateId === certificate.certificateId &&
        canBeConfirmed(delivery),
    )
    // In one order, so that a repeated receipt finds the same delivery.
    const byName = groupBy(sent.sort(compareDeliveries), tokenName)
    const matches = named.flatMap(({ receipt, ...name }) => {
      const candidates = byName.get(tokenName(name)) ?? []
      // A token that moved to another device during the task has a delivery on both.
      const delivery =
        candidates.find(({ messageId }) => messageId === receipt.messageId) ?? candidates[0]
      return delivery ? [{ receipt, delivery }] : []
    })
    return matches.sort((a, b) => compareDeliveries(a.delivery, b.delivery))
  }

  async #record(
    tx: Tx,
    { certificate }: ReceiptSource,
    matches: readonly Match[],
    now: number,
  ): Promise<Worth> {
    const { deliveries, tasks, tokens } = this.options
    const read = new Map(matches.map(({ delivery }) => [deliveryName(delivery), delivery]))
    const locked = await deliveries.lock(tx, [...read.values()])
    const current = new Map(locked.map((delivery) => [deliveryName(delivery), delivery]))
    const changed = new Map<string, Delivery>()
    const effects = { received: 0, noted: 0 }
    const counts: CountChange[] = []
    const about = { certificate: certificate.name, now }
    for (const { receipt, delivery: before } of matches) {
      const name = deliveryName(before)
      const delivery = changed.get(name) ?? current.get(name)
      // The delivery has changed its way in the meantime, or was deleted.
      if (!delivery || delivery.tokenHash !== before.tokenHash) continue
      const after = confirmed(delivery, confirmationOf(receipt, about))
      if (after.result === 'repeated') continue
      effects[after.result]++
      if (after.result === 'received') counts.push(receivedOf(delivery))
      const step = await tokens.follow(tx, delivery, { receipt, ...about })
      const { steps } = after.delivery
      changed.set(name, { ...after.delivery, steps: step ? withSteps(steps, step) : steps })
    }
    await deliveries.change(tx, [...changed.values()])
    await tasks.addCounts(tx, counts)
    return effects
  }
}

interface Worth {
  readonly received: number
  readonly noted: number
}

function confirmationOf(
  { kind, code }: PushReceipt,
  { certificate, now }: { readonly certificate: string; readonly now: number },
): Confirmation {
  return { kind, code, certificate, at: now }
}

function isReceiptChannel(channel: string): channel is ReceiptChannel {
  return receiptChannels.some((each) => each === channel)
}

function isProved(
  channel: ReceiptChannel,
  { certificate: { receiptProof } }: ReceiptSource,
  { body, signature }: GatewayReceiptRequest,
  now: number,
): boolean {
  if (receiptProof === undefined) return true
  if (channel === 'vendor_h')
    return isSignedByVendorH(signature, receiptProof, now) || isTestOfAddress(body)
  return channel === 'vendor_f' ? isSentByVendorF(body, receiptProof.secret) : true
}

function tokenName({
  taskId,
  batchId,
  tokenHash,
}: Pick<Delivery, 'taskId' | 'batchId' | 'tokenHash'>): string {
  return `${taskId} ${batchId} ${tokenHash}`
}
