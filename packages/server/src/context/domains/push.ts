import type { AppService } from '../../domain/apps/app-service.js'
import type { KnownCertificates } from '../../domain/push/certificates/certificate-model.js'
import { PushPreferenceService } from '../../domain/push/preferences/push-preference-service.js'
import { AudienceReader, type MessageAudience } from '../../domain/push/tasks/audience-reader.js'
import { BatchSender } from '../../domain/push/tasks/batch-sender.js'
import { DeliveryPlanner } from '../../domain/push/tasks/delivery-planner.js'
import { DeliveryRecorder } from '../../domain/push/tasks/delivery-recorder.js'
import { PushTaskService } from '../../domain/push/tasks/push-task-service.js'
import { TaskExpander } from '../../domain/push/tasks/task-expander.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { JobQueue } from '../../jobs/job-queue.js'
import type { CoreChannel } from '../../push/core-channel.js'
import type { PushSender, VendorChannel } from '../../push/sender.js'
import type { Foundation } from '../foundation.js'

export function createPushPreferences(
  { database, stores }: Foundation,
  { accounts }: { readonly accounts: AccountService },
): { readonly pushPreferences: PushPreferenceService } {
  return {
    pushPreferences: new PushPreferenceService({
      database,
      store: stores.pushPreferences,
      users: stores.users,
      accounts,
    }),
  }
}

export interface PushTasks {
  readonly batchSender: BatchSender
  readonly deliveryPlanner: DeliveryPlanner
  readonly pushTasks: PushTaskService
  readonly taskExpander: TaskExpander
}

export interface PushTasksOptions {
  readonly apps: AppService
  readonly certificates: KnownCertificates
  readonly core: CoreChannel
  readonly jobs: JobQueue
  readonly messages: MessageAudience
  readonly senders: Readonly<Record<VendorChannel, PushSender>>
}

/** From what is asked for to what the gateways answered. */
export function createPushTasks(
  { database, stores, ids, clock }: Foundation,
  { apps, certificates, core, jobs, messages, senders }: PushTasksOptions,
): PushTasks {
  const shared = { database, clock, certificates, core }
  const tasks = stores.pushTasks
  const deliveries = stores.pushDeliveries
  const recipients = stores.pushRecipients
  const deliveryPlanner = new DeliveryPlanner({
    ...shared,
    recipients,
    deliveries,
    tasks,
    users: stores.users,
    apps,
    jobs,
    ids,
  })
  const recorder = new DeliveryRecorder({
    database,
    clock,
    deliveries,
    tasks,
    bindings: stores.pushBindings,
    certificates: stores.pushCertificates,
    jobs,
    random: Math.random,
  })
  const audiences = new AudienceReader({
    database,
    store: stores.pushAudiences,
    core,
    messages,
  })
  return {
    deliveryPlanner,
    pushTasks: new PushTaskService({ database, clock, store: tasks, certificates, jobs, ids }),
    taskExpander: new TaskExpander({
      database,
      clock,
      tasks,
      audiences,
      planner: deliveryPlanner,
    }),
    batchSender: new BatchSender({ ...shared, tasks, deliveries, recipients, senders, recorder }),
  }
}
