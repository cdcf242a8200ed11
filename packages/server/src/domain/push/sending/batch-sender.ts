import { pushDeliveryState, pushTaskState } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { allEnded } from '../../../lib/concurrency/all-ended.js'
import { groupBy } from '../../../lib/group-by.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import { MassPruneGuard } from '../../../push/rules/mass-prune.js'
import type { PushOutcome, PushSender, VendorChannel } from '../../../push/sender.js'
import type { KnownCertificates, PushCertificateEntry } from '../certificates/certificate-model.js'
import { type Delivery, deliveryName, deviceName, tokenHash } from '../deliveries/delivery-model.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { RecipientStore } from '../deliveries/recipient-store.js'
import type { SendJob } from '../tasks/push-jobs.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { Result, ResultFacts } from './delivery-recorder.js'
import { notificationOf, variantOf } from './device-notification.js'
import type { Recorder } from './outcome-watch.js'
import type { SendPace } from './send-pace.js'

export interface BatchSenderOptions {
  readonly database: Database
  readonly tasks: TaskStore
  readonly deliveries: DeliveryStore
  readonly recipients: RecipientStore
  readonly certificates: KnownCertificates
  readonly senders: Readonly<Record<VendorChannel, PushSender>>
  readonly core: Pick<CoreChannel, 'deliver'>
  readonly recorder: Recorder
  readonly clock: Clock
}

/** A run of a job that sends. */
export interface BatchRun {
  readonly appId: string
  readonly batchId: Delivery['batchId']
  /** What is to be tried later is ordered as this kind too. */
  readonly job: SendJob
  readonly signal: AbortSignal
  readonly pace: SendPace
}

/** A delivery whose way is open. */
interface PreparedDelivery {
  readonly delivery: Delivery
  readonly task: StoredPushTask
  readonly certificate: PushCertificateEntry
  readonly token: string
}

/** Sends what is due of a batch, and has what came of it recorded. */
export class BatchSender {
  readonly #massPrune = new MassPruneGuard()

  constructor(private readonly options: BatchSenderOptions) {}

  /** What is to be tried later is ordered as another job. */
  async send({ appId, batchId, job, signal, pace }: BatchRun): Promise<void> {
    const { database, deliveries, recorder, clock } = this.options
    /** What was looked at and stays as it is. */
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
      await this.#sendAtPace({ appId, due, left, signal, pace })
    }
  }

  async #sendAtPace({
    appId,
    due,
    left,
    signal,
    pace,
  }: {
    readonly appId: string
    readonly due: readonly Delivery[]
    readonly left: Map<string, number>
    readonly signal: AbortSignal
    readonly pace: SendPace
  }): Promise<void> {
    for (let sent = 0; sent < due.length; ) {
      const next = due.slice(sent, sent + (await pace.next(signal)))
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
    const facts = await this.#facts(appId, due)
    const results: Result[] = []
    const sendings: PreparedDelivery[] = []
    const connected: { delivery: Delivery; task: StoredPushTask }[] = []
    for (const delivery of due) {
      const task = facts.tasks.get(delivery.taskId)
      if (!task || task.state === pushTaskState.cancelled)
        results.push({ delivery, kind: 'ended', state: pushDeliveryState.cancelled })
      else if (task.expiresAt <= now)
        results.push({ delivery, kind: 'ended', state: pushDeliveryState.expired })
      else if (delivery.channel === 'core') connected.push({ delivery, task })
      else {
        const sending = openWay(delivery, facts)
        if (sending === null) results.push({ delivery, kind: 'gone' })
        else sendings.push({ delivery, task, ...sending })
      }
    }
    const record = this.#recording(appId, facts, left)
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

  /** Records results as they come; what comes while others are being recorded is recorded together. */
  #recording(
    appId: string,
    facts: ResultFacts,
    left: Map<string, number>,
  ): (results: readonly Result[]) => Promise<void> {
    const { recorder } = this.options
    const waiting: Result[] = []
    let running: Promise<void> | null = null
    const drain = async () => {
      while (waiting.length > 0)
        for (const [name, until] of await recorder.record(appId, facts, waiting.splice(0)))
          left.set(name, until)
    }
    return async (results) => {
      waiting.push(...results)
      do {
        running ??= drain().finally(() => {
          running = null
        })
        await running
      } while (waiting.length > 0)
    }
  }

  async #facts(appId: string, due: readonly Delivery[]): Promise<ResultFacts> {
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

  /** Devices that are told the same through the same certificate. */
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

/** The token that the delivery was planned for, if the device still has it. */
function openWay(
  delivery: Delivery,
  { bindings, certificates }: ResultFacts,
): Pick<PreparedDelivery, 'certificate' | 'token'> | null {
  const certificate = certificates.get(delivery.certificateId)
  const binding = bindings
    .get(deviceName(delivery))
    ?.find(({ notifierName }) => notifierName === certificate?.name)
  return certificate && binding && tokenHash(binding.deviceToken) === delivery.tokenHash
    ? { certificate, token: binding.deviceToken }
    : null
}
