import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { compare } from '../../../lib/compare.js'
import { extLocation } from '../../../push/rules/ext-location.js'
import type { StoredDevice } from '../../devices/device-model.js'
import type { AccountService } from '../../users/account-service.js'
import type { UserKey } from '../../users/user-model.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import type { DeliveryStore } from '../deliveries/delivery-store.js'
import type { RecipientStore } from '../deliveries/recipient-inputs.js'
import type { OperatorTaskService } from '../tasks/operator-task-service.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import type { TaskStore } from '../tasks/task-store.js'
import type { AudienceCheck, Membership } from './audience-check.js'
import type { Trace, TracedBinding, TracedDevice } from './trace-model.js'
import { describeDelivery, describeMissingDelivery, describeUser } from './trace-sentences.js'

interface TraceServiceOptions {
  readonly database: Database
  readonly accounts: Pick<AccountService, 'requireUser'>
  readonly tasks: TaskStore
  readonly operatorTasks: OperatorTaskService
  readonly deliveries: DeliveryStore
  readonly recipients: RecipientStore
  readonly devices: {
    list(
      db: Queryable,
      user: UserKey,
    ): Promise<readonly Pick<StoredDevice, 'deviceSn' | 'deviceGuid' | 'platform'>[]>
  }
  readonly bindings: {
    /** Returns the GUIDs of devices with a silent binding. */
    listSilentGuids(db: Queryable, user: UserKey): Promise<ReadonlySet<string>>
  }
  readonly audiences: AudienceCheck
  readonly certificates: KnownCertificates
  /** For how long deliveries are kept. */
  readonly traceMs: number
  readonly clock: Clock
}

/** Names a push by exactly one of the two. */
export interface WhichPush {
  readonly task_id?: Int64 | undefined
  readonly msg_id?: Int64 | undefined
}

const maxDevices = 100

/** Explains why a push arrived or did not (rule G9). */
export class TraceService {
  constructor(private readonly options: TraceServiceOptions) {}

  /** @throws AppError invalid_parameter, user_not_found, user_deleted, push_task_not_found */
  async trace(appId: string, which: WhichPush, userId: Int64): Promise<Trace> {
    const { accounts, operatorTasks, audiences } = this.options
    await accounts.requireUser(appId, userId)
    const task = await this.#find(appId, which)
    const [membership, progress] = await Promise.all([
      audiences.check(task, userId),
      operatorTasks.progressOf(task),
    ])
    const devices = await this.#devices(task, userId, membership)
    return {
      progress,
      userId,
      isInAudience: membership.isIn,
      text: describeUser(
        membership.isIn,
        devices.map(({ delivery }) => delivery),
      ),
      devices,
    }
  }

  async #find(
    appId: string,
    { task_id: taskId, msg_id: msgId }: WhichPush,
  ): Promise<StoredPushTask> {
    const { database, tasks } = this.options
    if ((taskId === undefined) === (msgId === undefined))
      throw new AppError('invalid_parameter', 'give either task_id or msg_id')
    const task = await database.read((db) =>
      taskId === undefined
        ? tasks.findByMessage(db, appId, msgId ?? 0)
        : tasks.find(db, { appId, taskId }),
    )
    if (task) return task
    throw new AppError('push_task_not_found', taskId === undefined ? noPushOfMessage : undefined)
  }

  async #devices(
    task: StoredPushTask,
    userId: Int64,
    membership: Membership,
  ): Promise<readonly TracedDevice[]> {
    const { database, deliveries, recipients, certificates, clock, traceMs } = this.options
    const { appId } = task
    const [devices, silent, found, inputs, entries] = await Promise.all([
      database.read((db) => this.options.devices.list(db, { appId, userId })),
      database.read((db) => this.options.bindings.listSilentGuids(db, { appId, userId })),
      database.read((db) => deliveries.listOfUser(db, task, userId)),
      database.read((db) => recipients.inputs(db, appId, [userId])),
      certificates.of(appId),
    ])
    const channels = new Map(entries.map(({ name, gateway }) => [name, gateway.channel]))
    const platforms = new Map(devices.map((device) => [device.deviceSn, device.platform]))
    const silentSns = new Set(
      devices.filter((row) => silent.has(row.deviceGuid)).map((row) => row.deviceSn),
    )
    const ofDevice = new Map(found.map((delivery) => [delivery.deviceSn, delivery]))
    const deviceSns = [...new Set([...platforms.keys(), ...ofDevice.keys()])]
    const gateways = new Map(entries.map((entry) => [entry.certificateId, entry.gateway]))
    const { kind, ext } = task.content.notification
    const extLocationOf = ({ channel, certificateId }: Delivery) =>
      channel === '' || Object.keys(ext ?? {}).length === 0
        ? null
        : extLocation(channel, kind, gateways.get(certificateId))
    const now = clock.now()
    return deviceSns
      .sort(compare)
      .slice(0, maxDevices)
      .map((deviceSn) => {
        const delivery = ofDevice.get(deviceSn) ?? null
        const bindings = (inputs.get(userId)?.bindings.get(deviceSn) ?? []).map(
          ({ deviceToken: _, ...binding }): TracedBinding => ({
            ...binding,
            channel: channels.get(binding.notifierName) ?? '',
          }),
        )
        const text =
          delivery === null
            ? describeMissingDelivery({
                task,
                isReached: userId <= task.position,
                isInAudience: membership.isIn,
                isOtherDevice: membership.deviceSns?.includes(deviceSn) === false,
                bindings,
                isSilent: silentSns.has(deviceSn),
                hasCertificates: entries.length > 0,
                keptSince: now - traceMs,
                now,
              })
            : describeDelivery(delivery, extLocationOf(delivery))
        return { deviceSn, platform: platforms.get(deviceSn) ?? null, bindings, delivery, text }
      })
  }
}

const noPushOfMessage =
  'none was made of this message: none of its receivers had bound a device, or it is one that is never pushed (of a chatroom, a typing signal, ' +
  'with online_only, or a command without pushMessage)'
