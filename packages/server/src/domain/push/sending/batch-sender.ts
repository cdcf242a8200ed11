import { pushDeliveryState, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { allEnded } from '../../../lib/concurrency/all-ended.js'
import { Mutex } from '../../../lib/concurrency/mutex.js'
import { groupBy } from '../../../lib/group-by.js'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import { MassPruneGuard } from '../../../push/rules/mass-prune.js'
import type { VendorChannel } from '../../../push/certificate.js'
import type { PushOutcome } from '../../../push/outcomes.js'
import type { PushSender } from '../../../push/port.js'
import type { KnownCertificates, PushCertificateEntry } from '../certificates/certificate-model.js'
import { type Delivery, deliveryName, deviceName, tokenHash } from '../deliveries/delivery-model.js'
import { probedDevice } from '../deliveries/delivery-step.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { RecipientStore } from '../deliveries/recipient-inputs.js'
import type { SendJob } from '../tasks/push-jobs.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { Result, ResultInputs, TriedDelivery } from './delivery-progress.js'
import type { DeliveryRecorder } from './delivery-recorder.js'
import { notificationOf, variantOf } from './device-notification.js'
import type { GatewayHolds } from './gateway-holds.js'

/** The outcome of a try to push to a device. */
export type TriedOutcome = Pick<TriedDelivery, 'certificate' | 'outcome'>

/** Notified of the outcomes of tries before they are recorded. */
export interface OutcomeObserver {
  tried(appId: string, tries: readonly TriedOutcome[]): void
}

interface BatchSenderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly deliveries: DeliveryStore
  readonly recipients: RecipientStore
  readonly certificates: KnownCertificates
  readonly senders: Readonly<Record<VendorChannel, PushSender>>
  readonly core: Pick<CoreChannel, 'answered' | 'deliver'>
  readonly recorder: Pick<DeliveryRecorder, 'record' | 'sendLater'>
  readonly observer: OutcomeObserver
  readonly holds: Pick<GatewayHolds, 'note'>
  readonly clock: Clock
}

/** The number of sends to a gateway in one turn of the event loop. */
const deliveriesPerPart = 16

/** A run of a job that sends. */
export interface BatchRun {
  readonly appId: string
  readonly batchId: Delivery['batchId']
  /** The kind of the job; later tries are ordered as this kind too. */
  readonly job: SendJob
  readonly signal: AbortSignal
  /** Rests before each part of the batch; null: the batch is sent at full speed. */
  readonly pause: Pick<BackgroundPause, 'rest'> | null
}

/** A delivery with the certificate and token to use. */
interface PreparedDelivery {
  readonly delivery: Delivery
  readonly task: StoredPushTask
  readonly certificate: PushCertificateEntry
  readonly token: string
}

/** Sends the deliveries of a batch that are due, and has the outcomes recorded. */
export class BatchSender {
  readonly #massPrune = new MassPruneGuard()

  constructor(private readonly options: BatchSenderOptions) {}

  /** Later tries are ordered as another job. */
  async send({ appId, batchId, job, signal, pause }: BatchRun): Promise<void> {
    const { database, deliveries, recorder, clock } = this.options
    /** When to look again at deliveries that were tried and stay as they are. */
    const left = new Map<string, number>()
    const dueAt = (delivery: Delivery) => left.get(deliveryName(delivery)) ?? delivery.nextAt
    for (;;) {
      signal.throwIfAborted()
      const pending = await database.read((db) => deliveries.listPending(db, appId, batchId))
      if (pending.length === 0) return
      const now = clock.now()
      const due = pending.filter((delivery) => dueAt(delivery) <= now)
      if (due.length === 0) {
        const runAt = Math.min(...pending.map(dueAt))
        return recorder.sendLater(job, { appId, batchId, runAt })
      }
      await this.#sendInParts({ appId, due, left, signal, pause })
    }
  }

  async #sendInParts({
    appId,
    due,
    left,
    signal,
    pause,
  }: {
    readonly appId: string
    readonly due: readonly Delivery[]
    readonly left: Map<string, number>
    readonly signal: AbortSignal
    readonly pause: BatchRun['pause']
  }): Promise<void> {
    for (let sent = 0; sent < due.length; ) {
      const isShared = pause !== null && (await pause.rest(signal))
      const next = isShared ? due.slice(sent, sent + deliveriesPerPart) : due.slice(sent)
      signal.throwIfAborted()
      await this.#sendDue(appId, next, left)
      sent += next.length
    }
  }

  async #sendDue(
    appId: string,
    due: readonly Delivery[],
    left: Map<string, number>,
  ): Promise<void> {
    const now = this.options.clock.now()
    const [inputs, answered] = await Promise.all([
      this.#inputs(appId, due),
      this.#answered(appId, due),
    ])
    const results: Result[] = []
    const sendings: PreparedDelivery[] = []
    const connected: { delivery: Delivery; task: StoredPushTask }[] = []
    for (const delivery of due) {
      const task = inputs.tasks.get(delivery.taskId)
      if (!task || task.state === pushTaskState.cancelled)
        results.push({ delivery, kind: 'ended', state: pushDeliveryState.cancelled })
      else if (task.expiresAt <= now)
        results.push({ delivery, kind: 'ended', state: pushDeliveryState.expired })
      else if (answered.has(delivery)) results.push({ delivery, kind: 'connected' })
      else if (delivery.channel === 'core') connected.push({ delivery, task })
      else {
        const sending = openWay(delivery, inputs)
        if (sending === null) results.push({ delivery, kind: 'gone' })
        else sendings.push({ delivery, task, ...sending })
      }
    }
    const record = this.#recording(appId, inputs, left)
    const groups = groupBy(
      sendings,
      ({ task, delivery, certificate }) =>
        `${delivery.taskId} ${certificate.certificateId} ${variantOf(task, delivery)}`,
    )
    await allEnded([
      record(results),
      ...[...groups.values()].map(async (group) => record(await this.#sendGroup(group))),
      ...connected.map(async (each) => record([await this.#handOver(each)])),
    ])
  }

  /** Records results as they arrive. Results that arrive while others are recorded are recorded together. */
  #recording(
    appId: string,
    inputs: ResultInputs,
    left: Map<string, number>,
  ): (results: readonly Result[]) => Promise<void> {
    const { recorder, observer, holds } = this.options
    const waiting: Result[] = []
    const recording = new Mutex()
    return async (results) => {
      const tried = results.filter((result) => result.kind === 'tried')
      observer.tried(appId, tried)
      for (const [certificateId, ofOne] of groupBy(tried, (each) => each.certificate.certificateId))
        holds.note(
          appId,
          certificateId,
          ofOne.map(({ outcome }) => outcome),
        )
      waiting.push(...results)
      await recording.run(async () => {
        if (waiting.length === 0) return
        const later = await recorder.record(appId, inputs, waiting.splice(0))
        for (const [name, until] of later) left.set(name, until)
      })
    }
  }

  async #inputs(appId: string, due: readonly Delivery[]): Promise<ResultInputs> {
    const { database, tasks, recipients, certificates } = this.options
    const taskIds = [...new Set(due.map(({ taskId }) => taskId))]
    const userIds = due.map(({ userId }) => userId)
    const [found, bindings, entries] = await Promise.all([
      database.read((db) =>
        tasks.list(
          db,
          taskIds.map((taskId) => ({ appId, taskId })),
        ),
      ),
      database.read((db) => recipients.bindings(db, appId, userIds)),
      certificates.of(appId),
    ])
    return {
      tasks: new Map(found.map((task) => [task.taskId, task])),
      bindings,
      certificates: new Map(entries.map((entry) => [entry.certificateId, entry])),
    }
  }

  /**
   * The deliveries of messages whose connected devices have answered a ping since, so that they
   * have the message itself.
   */
  async #answered(appId: string, due: readonly Delivery[]): Promise<ReadonlySet<Delivery>> {
    const { core } = this.options
    const isAnswered = await Promise.all(
      due.map(async (delivery) => {
        const probed = probedDevice(delivery)
        return probed !== null && (await core.answered(appId, probed))
      }),
    )
    return new Set(due.filter((_, index) => isAnswered[index]))
  }

  /** Sends one notification to devices through one certificate. */
  async #sendGroup(group: readonly PreparedDelivery[]): Promise<Result[]> {
    const { senders, clock } = this.options
    const [first] = group
    if (!first) return []
    const { certificate, task, delivery } = first
    const sentAt = clock.now()
    const outcomes = await this.#outcomes(senders[certificate.gateway.channel], {
      certificate,
      notification: notificationOf(task, delivery),
      targets: group.map(({ token, delivery: { badge } }) => ({ token, badgeCount: badge })),
      now: sentAt,
    })
    return group.map((sending, index) => ({
      kind: 'tried',
      delivery: sending.delivery,
      token: sending.token,
      certificate,
      sentAt,
      outcome: outcomes[index] ?? missing,
    }))
  }

  async #outcomes(
    sender: PushSender,
    {
      certificate,
      notification,
      targets,
      now,
    }: {
      readonly certificate: PushCertificateEntry
      readonly notification: Parameters<PushSender['send']>[0]['notification']
      readonly targets: Parameters<PushSender['send']>[0]['targets']
      readonly now: number
    },
  ): Promise<readonly PushOutcome[]> {
    const { gateway, pauses } = certificate
    const outcomes = await sender.send({ certificate: gateway, notification, targets, pauses })
    const lastAcceptedAt = certificate.lastAcceptedAt === 0 ? null : certificate.lastAcceptedAt
    return this.#massPrune.guard(certificate.certificateId, outcomes, { lastAcceptedAt, now })
  }

  async #handOver({
    delivery,
    task,
  }: {
    readonly delivery: Delivery
    readonly task: StoredPushTask
  }): Promise<Result> {
    const { core } = this.options
    const notification = notificationOf(task, delivery)
    const isHanded = await core.deliver(delivery.appId, delivery, notification, delivery.badge)
    return { kind: isHanded ? 'handed_over' : 'disconnected', delivery }
  }
}

const missing: PushOutcome = {
  kind: 'server_error',
  code: 'no_outcome',
  reason: 'the gateway said nothing of this device',
  retryAfterMs: null,
}

/**
 * The certificate and token of a delivery; null: the device has another token than at the time of
 * planning.
 */
function openWay(
  delivery: Delivery,
  { bindings, certificates }: ResultInputs,
): Pick<PreparedDelivery, 'certificate' | 'token'> | null {
  const certificate = certificates.get(delivery.certificateId)
  const binding = bindings
    .get(deviceName(delivery))
    ?.find(({ notifierName }) => notifierName === certificate?.name)
  return certificate && binding && tokenHash(binding.deviceToken) === delivery.tokenHash
    ? { certificate, token: binding.deviceToken }
    : null
}
