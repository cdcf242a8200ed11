import { type Int64, pushDeliveryState } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Clock } from '../../../lib/clock.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import {
  certificatePauses,
  devicePauseEnd,
  isStillHeldBack,
  nextTryAt,
  noTries,
  triesAfter,
} from '../../../push/rules/retry.js'
import type { PushOutcome, QuotaPauses } from '../../../push/sender.js'
import type { DeviceBindings } from '../../devices/device-bindings.js'
import type { CertificateKey, PushCertificateEntry } from '../certificates/certificate-model.js'
import {
  compareWays,
  type DeviceBinding,
  type VendorWay,
  vendorWays,
} from '../deliveries/channel-choice.js'
import {
  compareDeliveries,
  type Delivery,
  deliveryName,
  deviceName,
  tokenHash,
} from '../deliveries/delivery-model.js'
import { type DeliveryStep, withSteps } from '../deliveries/delivery-step.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import { wayOf } from '../deliveries/plan-deliveries.js'
import type { SendJob } from '../tasks/push-jobs.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import { type CountChange, finishedOf } from '../tasks/task-statements.js'
import type { TaskStore } from '../tasks/task-store.js'
import { type AcceptedDelivery, recordAccepted } from './record-accepted.js'

/** What came of one delivery. */
export type Result = { readonly delivery: Delivery } & (
  | Tried
  /** Its time was over, or it was cancelled. */
  | { readonly kind: 'ended'; readonly state: number }
  /** The device has not got the token any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'handed_over' | 'disconnected' }
)

interface Tried {
  readonly kind: 'tried'
  readonly token: string
  readonly certificate: PushCertificateEntry
  /** Milliseconds since 1970. */
  readonly sentAt: number
  readonly outcome: PushOutcome
}

type TriedDelivery = Tried & { readonly delivery: Delivery }

/** What the deliveries of a batch are about. */
export interface ResultFacts {
  readonly tasks: ReadonlyMap<unknown, StoredPushTask>
  /** By {@link deviceName}. */
  readonly bindings: ReadonlyMap<string, readonly DeviceBinding[]>
  readonly certificates: ReadonlyMap<unknown, PushCertificateEntry>
}

/** Notes how a certificate does. */
export interface CertificateUse {
  recordAccepted(tx: Tx, certificate: CertificateKey, at: number): Promise<void>
  /** Does nothing for none. */
  pause(tx: Tx, certificate: CertificateKey, pauses: QuotaPauses): Promise<void>
}

export interface DeliveryRecorderOptions {
  readonly database: Database
  readonly deliveries: DeliveryStore
  readonly tasks: TaskStore
  readonly bindings: DeviceBindings
  readonly certificates: CertificateUse
  readonly jobs: JobQueue
  readonly clock: Clock
  readonly random: () => number
}

/** How a delivery goes on, and what is counted for it. */
interface DeliveryProgress {
  readonly delivery: Delivery
  readonly steps: readonly DeliveryStep[]
  /** The gateway took it, or the device has it. */
  readonly isSent?: boolean
  /** It goes through another channel now, and not with another token through the same. */
  readonly isRedirected?: boolean
}

/**
 * Records what came of deliveries, each in the state in which it was read: of two that tried the same delivery one is recorded, so that
 * nothing counts twice.
 */
export class DeliveryRecorder {
  constructor(private readonly options: DeliveryRecorderOptions) {}

  /** @returns when to look again at the deliveries that stay as they are, by {@link deliveryName}, milliseconds since 1970 */
  async record(
    appId: string,
    facts: ResultFacts,
    results: readonly Result[],
  ): Promise<ReadonlyMap<string, number>> {
    const now = this.options.clock.now()
    const left = new Map<string, number>()
    for (const result of results) {
      const until = this.#leftUntil(result, facts, now)
      if (until !== null) left.set(deliveryName(result.delivery), until)
    }
    const news = results.filter(({ delivery }) => !left.has(deliveryName(delivery)))
    const accepted = news.flatMap((result) => acceptedDelivery(result, now) ?? [])
    // What most results are keeps the writer for a moment only.
    if (accepted.length === news.length) await this.#recordAccepted(accepted)
    else await this.#recordAny(appId, facts, news, now)
    return left
  }

  /** @returns null where there is something to record */
  #leftUntil(result: Result, facts: ResultFacts, now: number): number | null {
    if (result.kind !== 'tried' || !isStillHeldBack(result.delivery, result.outcome)) return null
    return this.#nextTryAt(result, facts.tasks.get(result.delivery.taskId), now)
  }

  async #recordAccepted(accepted: readonly AcceptedDelivery[]): Promise<void> {
    if (accepted.length === 0) return
    const { pending, accepted: taken } = pushDeliveryState
    const states = { pending, accepted: taken }
    const deliveries = [...accepted].sort(compareDeliveries)
    await this.options.database.procedure(recordAccepted, { deliveries, states }, null)
  }

  async #recordAny(
    appId: string,
    facts: ResultFacts,
    results: readonly Result[],
    now: number,
  ): Promise<void> {
    const { database, deliveries, tasks } = this.options
    await database.transaction(async (tx) => {
      const locked = await deliveries.lock(
        tx,
        [...results].map(({ delivery }) => delivery).sort(compareDeliveries),
      )
      const current = new Map(locked.map((delivery) => [deliveryName(delivery), delivery]))
      const counted: Result[] = []
      const progresses: DeliveryProgress[] = []
      for (const result of results) {
        const stored = current.get(deliveryName(result.delivery))
        if (!stored || !isUnchanged(result.delivery, stored)) continue
        const progress = this.#progress(result, facts, now)
        const cleared = await this.#settleToken(tx, result, now)
        const { receivedAt } = stored
        const steps = withSteps(stored.steps, ...insertCleared(progress.steps, cleared))
        progresses.push({ ...progress, delivery: { ...progress.delivery, receivedAt, steps } })
        counted.push(result)
      }
      const changed = progresses.map(({ delivery }) => delivery)
      await deliveries.change(tx, changed)
      await tasks.addDevices(tx, finishedOf(changed.filter(hasDeliveryEnded)))
      await tasks.addCounts(tx, progresses.flatMap(countsOf))
      await this.#noteCertificates(tx, appId, counted, now)
    })
  }

  /** Orders another look at a batch. */
  async sendLater(
    job: SendJob,
    {
      appId,
      batchId,
      runAt,
    }: { readonly appId: string; readonly batchId: Int64; readonly runAt: number },
  ): Promise<void> {
    const { database, jobs } = this.options
    const key = `${batchId}@${runAt}`
    await database.transaction((tx) =>
      jobs.enqueue(tx, job, { appId, key, runAt, payload: { batchId } }),
    )
  }

  #progress(result: Result, facts: ResultFacts, now: number): DeliveryProgress {
    const { delivery } = result
    const task = facts.tasks.get(delivery.taskId)
    switch (result.kind) {
      case 'ended': {
        const step = result.state === pushDeliveryState.expired ? 'expired' : 'cancelled'
        return ended(delivery, result.state, [{ at: now, step }])
      }
      case 'gone': {
        const reason = 'the device has another token by now, or none'
        const step = triedStep(delivery, now, {
          result: 'invalid_token',
          code: 'token_replaced',
          reason,
        })
        return redirected(delivery, [step], this.#otherWay(delivery, task, facts, now, 'same'))
      }
      case 'handed_over':
        return {
          ...ended(delivery, pushDeliveryState.accepted, [
            triedStep(delivery, now, { result: 'handed_over' }),
          ]),
          isSent: true,
        }
      case 'disconnected':
        return redirected(
          delivery,
          [triedStep(delivery, now, { result: 'disconnected' })],
          this.#otherWay(delivery, task, facts, now, 'any'),
        )
      case 'tried':
        return this.#tried(result, task, facts, now)
    }
  }

  #tried(
    tried: TriedDelivery,
    task: StoredPushTask | undefined,
    facts: ResultFacts,
    now: number,
  ): DeliveryProgress {
    const { delivery, certificate, outcome } = tried
    const words = outcome.kind === 'accepted' ? {} : { code: outcome.code, reason: outcome.reason }
    const step: DeliveryStep = {
      ...triedStep(delivery, now, { result: outcome.kind, ...words }),
      certificate: certificate.name,
    }
    if (outcome.kind === 'accepted')
      return {
        ...ended({ ...delivery, messageId: outcome.messageId }, pushDeliveryState.accepted, [step]),
        isSent: true,
      }
    if (outcome.kind === 'invalid_token')
      return redirected(delivery, [step], this.#otherWay(delivery, task, facts, now, 'later'))
    const nextAt = this.#nextTryAt(tried, task, now)
    if (nextAt === null) return ended(delivery, pushDeliveryState.refused, [step])
    const tries = triesAfter(delivery, outcome)
    return {
      delivery: { ...delivery, ...tries, attempts: delivery.attempts + 1, nextAt },
      steps: [{ ...step, nextAt }],
    }
  }

  #nextTryAt(
    { delivery, certificate, outcome }: TriedDelivery,
    task: StoredPushTask | undefined,
    now: number,
  ): number | null {
    return nextTryAt(outcome, {
      channel: certificate.gateway.channel,
      tries: triesAfter(delivery, outcome),
      now,
      expiresAt: task?.expiresAt ?? 0,
      random: this.options.random(),
    })
  }

  /**
   * Another way to the device.
   * @param which `later`: behind the present one in the sequence; `same`: the present one too, with another token; `any`: the first one
   */
  #otherWay(
    delivery: Delivery,
    task: StoredPushTask | undefined,
    { bindings, certificates }: ResultFacts,
    now: number,
    which: 'later' | 'same' | 'any',
  ): VendorWay | null {
    if (!task || task.content.strategy === 'corepush_only') return null
    const { sequence } = task.content
    const present = certificates.get(delivery.certificateId)
    const ways = vendorWays({
      ...task.content,
      isConnected: false,
      bindings: bindings.get(deviceName(delivery)) ?? [],
      certificates: new Map([...certificates.values()].map((entry) => [entry.name, entry])),
      now,
    })
    const isBehind = ({ certificate, binding }: VendorWay) => {
      if (which === 'any' || !present) return true
      const order = compareWays(sequence, certificate, present)
      if (order !== 0) return order > 0
      return which === 'same' && tokenHash(binding.deviceToken) !== delivery.tokenHash
    }
    return ways.find(isBehind) ?? null
  }

  /** @returns the certificate whose token was cleared */
  async #settleToken(tx: Tx, result: Result, now: number): Promise<string | null> {
    if (result.kind !== 'tried') return null
    const { delivery, certificate, outcome, sentAt, token } = result
    const { bindings } = this.options
    const binding = { notifierName: certificate.name, deviceToken: token }
    if (outcome.kind === 'invalid_token') {
      const boundBefore = outcome.since ?? sentAt
      const isCleared = await bindings.clear(tx, delivery, binding, boundBefore)
      return isCleared ? certificate.name : null
    }
    const pausedUntil = devicePauseEnd(outcome, now)
    if (pausedUntil !== null) await bindings.pause(tx, delivery, binding, pausedUntil)
    return null
  }

  async #noteCertificates(
    tx: Tx,
    appId: string,
    results: readonly Result[],
    now: number,
  ): Promise<void> {
    const { certificates } = this.options
    const tried = results.filter((result) => result.kind === 'tried')
    const byCertificate = groupBy(tried, ({ certificate }) => certificate.certificateId)
    const sorted = [...byCertificate].sort(([a], [b]) => compare(a, b))
    for (const [certificateId, ofCertificate] of sorted) {
      const known = ofCertificate[0]?.certificate.pauses ?? {}
      const key = { appId, certificateId }
      const outcomes = ofCertificate.map(({ outcome }) => outcome)
      if (outcomes.some(({ kind }) => kind === 'accepted') && isOlder(ofCertificate, now))
        await certificates.recordAccepted(tx, key, now)
      await certificates.pause(tx, key, certificatePauses(outcomes, known))
    }
  }
}

const minuteMs = 60_000

/** Whether the last success that is known was a while ago; more exactly nobody wants to know it. */
function isOlder([first]: readonly Tried[], now: number): boolean {
  return first !== undefined && first.certificate.lastAcceptedAt <= now - minuteMs
}

/** Null: it is more than a delivery that was taken; its certificate is to be noted, too, or it was not taken at all. */
function acceptedDelivery(result: Result, now: number): AcceptedDelivery | null {
  if (result.kind !== 'tried' || result.outcome.kind !== 'accepted') return null
  const { delivery, certificate, outcome } = result
  const { appId, taskId, userId, deviceSn, channel, attempts } = delivery
  if (channel === '' || isOlder([result], now)) return null
  const step: DeliveryStep = {
    ...triedStep(delivery, now, { result: 'accepted' }),
    certificate: certificate.name,
  }
  const { messageId } = outcome
  return { appId, taskId, userId, deviceSn, channel, attempts, messageId, step }
}

/** As it was read, so that it was this try that brought it further. */
function isUnchanged(read: Delivery, current: Delivery): boolean {
  return current.state === pushDeliveryState.pending && current.attempts === read.attempts
}

function hasDeliveryEnded({ state }: Delivery): boolean {
  return state !== pushDeliveryState.pending
}

function triedStep(
  { channel }: Delivery,
  at: number,
  words: Pick<DeliveryStep, 'result' | 'code' | 'reason'>,
): DeliveryStep {
  return { at, step: 'tried', ...(channel !== '' && { channel }), ...words }
}

function ended(
  delivery: Delivery,
  state: number,
  steps: readonly DeliveryStep[],
): DeliveryProgress {
  return { delivery: { ...delivery, state, attempts: delivery.attempts + 1 }, steps }
}

/** @param way null: there is none, and the delivery ends */
function redirected(
  delivery: Delivery,
  steps: readonly DeliveryStep[],
  way: VendorWay | null,
): DeliveryProgress {
  if (way === null) return ended(delivery, pushDeliveryState.refused, steps)
  const { step, ...chosen } = wayOf({ kind: 'vendor', ...way })
  const [{ at }] = steps as [DeliveryStep]
  const isRedirected = chosen.channel !== delivery.channel
  const tries = isRedirected ? noTries : {}
  return {
    delivery: { ...delivery, ...chosen, ...tries, attempts: delivery.attempts + 1, nextAt: at },
    steps: [...steps, { at, step: 'channel_chosen', ...step }],
    isRedirected,
  }
}

/** The step of a token that was cleared comes after the try that said so. */
function insertCleared(
  steps: readonly DeliveryStep[],
  certificate: string | null,
): readonly DeliveryStep[] {
  const [first, ...rest] = steps
  if (certificate === null || !first) return steps
  return [first, { at: first.at, step: 'token_cleared', certificate }, ...rest]
}

function countsOf({ delivery, isSent, isRedirected }: DeliveryProgress): CountChange[] {
  const { appId, taskId, channel } = delivery
  if (channel === '' || !(isSent || isRedirected)) return []
  return [
    { appId, taskId, channel, target: isRedirected ? 1 : 0, sent: isSent ? 1 : 0, received: 0 },
  ]
}
