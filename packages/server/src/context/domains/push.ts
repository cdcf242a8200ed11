import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { AudienceCounter } from '../../domain/push/audience/audience-counter.js'
import { AudienceReader } from '../../domain/push/audience/audience-reader.js'
import { TaskExpander } from '../../domain/push/audience/task-expander.js'
import { BatchOpener } from '../../domain/push/batches/batch-opener.js'
import { CertificateAdminService } from '../../domain/push/certificates/certificate-admin-service.js'
import { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { KnownCertificates } from '../../domain/push/certificates/certificate-model.js'
import { CertificateService } from '../../domain/push/certificates/certificate-service.js'
import { DeliveryPlanner } from '../../domain/push/deliveries/delivery-planner.js'
import { MessageAudience } from '../../domain/push/messages/message-audience.js'
import { MessageExpansion } from '../../domain/push/messages/message-expansion.js'
import { MessagePushConsumer } from '../../domain/push/messages/message-push-consumer.js'
import { MessagePushService } from '../../domain/push/messages/message-push-service.js'
import { MessageWithdrawal } from '../../domain/push/messages/message-withdrawal.js'
import { PushPreferenceService } from '../../domain/push/preferences/push-preference-service.js'
import { type ReceiptObserver, ReceiptService } from '../../domain/push/receipts/receipt-service.js'
import { ReceiptTokens } from '../../domain/push/receipts/receipt-tokens.js'
import { ReportService } from '../../domain/push/receipts/report-service.js'
import { BatchSender } from '../../domain/push/sending/batch-sender.js'
import { DeliveryRecorder } from '../../domain/push/sending/delivery-recorder.js'
import { type OutcomeObserver, watchOutcomes } from '../../domain/push/sending/outcome-watch.js'
import { OperatorTaskService } from '../../domain/push/tasks/operator-task-service.js'
import { PushPurge } from '../../domain/push/tasks/push-purge.js'
import { PushTaskService } from '../../domain/push/tasks/push-task-service.js'
import { AudienceCheck } from '../../domain/push/trace/audience-check.js'
import { TraceService } from '../../domain/push/trace/trace-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { JobQueue } from '../../jobs/job-queue.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { CoreChannel } from '../../push/core-channel.js'
import type { CertificateInspector, PushSender, VendorChannel } from '../../push/sender.js'
import type { Foundation } from '../foundation.js'
import type { Groups } from './groups.js'

/** The credentials of applications at push gateways. */
export interface PushCertificates {
  readonly certificateAdmin: CertificateAdminService
  readonly certificateExpiry: CertificateExpiry
  readonly pushCertificates: CertificateService
}

/** @param options.publicUrl where gateways reach the service; null: they do not */
export function createPushCertificates(
  { database, caches, stores, ids, clock }: Foundation,
  {
    apps,
    secretBox,
    inspector,
    publicUrl,
  }: {
    readonly apps: AppService
    readonly secretBox: SecretBox
    readonly inspector: CertificateInspector
    readonly publicUrl: string | null
  },
): PushCertificates {
  const store = stores.certificates
  const pushCertificates = new CertificateService({
    database,
    store,
    secretBox,
    cache: caches.certificates,
    ownerCache: caches.certificateOwners,
    publicUrl,
  })
  const certificateAdmin = new CertificateAdminService({
    database,
    store,
    certificates: pushCertificates,
    apps,
    inspector,
    ids,
    clock,
    secretBox,
    publicUrl,
  })
  const certificateExpiry = new CertificateExpiry({ database, store, clock })
  return { certificateAdmin, certificateExpiry, pushCertificates }
}

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
  readonly batchOpener: BatchOpener
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
  readonly observer: OutcomeObserver
  readonly senders: Readonly<Record<VendorChannel, PushSender>>
}

export interface PushMessages {
  readonly messagePushes: MessagePushConsumer
}

/** Who is told of messages. */
export function createMessageAudience({ database, stores }: Foundation): MessageAudience {
  return new MessageAudience({ database, store: stores.receivers })
}

/** Pushes of messages to those who are away. */
export function createPushMessages(
  { database, stores, ids, clock }: Foundation,
  {
    apps,
    certificates,
    deliveryPlanner: planner,
    groupCache: groups,
    jobs,
  }: Pick<PushTasksOptions, 'apps' | 'certificates' | 'jobs'> &
    Pick<PushTasks, 'deliveryPlanner'> &
    Pick<Groups, 'groupCache'>,
): PushMessages {
  const { receivers: store, pushTasks: tasks, pushDeliveries: deliveries, readMessages } = stores
  const messages = new MessagePushService({
    database,
    store,
    expansion: new MessageExpansion({ database, store, groups }),
    tasks,
    planner,
    apps,
    jobs,
    ids,
    clock,
  })
  const withdrawal = new MessageWithdrawal({
    database,
    tasks,
    deliveries,
    reads: readMessages,
    clock,
  })
  return { messagePushes: new MessagePushConsumer({ certificates, messages, withdrawal }) }
}

/** From what is asked for to what the gateways answered. */
export function createPushTasks(
  { database, stores, ids, clock }: Foundation,
  { apps, certificates, core, jobs, messages, observer, senders }: PushTasksOptions,
): PushTasks {
  const shared = { database, clock, certificates, core }
  const tasks = stores.pushTasks
  const deliveries = stores.pushDeliveries
  const recipients = stores.pushRecipients
  const deliveryPlanner = new DeliveryPlanner({
    ...shared,
    recipients,
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
    certificates: stores.certificates,
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
      counter: new AudienceCounter({
        database,
        store: stores.pushAudiences,
        audiences,
        planner: deliveryPlanner,
        core,
      }),
      planner: deliveryPlanner,
      jobs,
    }),
    batchOpener: new BatchOpener({
      database,
      clock,
      store: stores.pushBatches,
      tasks,
      audiences,
      planner: deliveryPlanner,
    }),
    batchSender: new BatchSender({
      ...shared,
      tasks,
      deliveries,
      recipients,
      senders,
      recorder: watchOutcomes(recorder, observer),
    }),
  }
}

export interface PushReports {
  readonly operatorTasks: OperatorTaskService
  readonly pushPurge: PushPurge
  readonly pushReports: ReportService
  readonly receipts: ReceiptService
  readonly traces: TraceService
}

export interface PushReportsOptions {
  readonly config: ServerConfig['push']
  readonly accounts: AccountService
  readonly apps: AppService
  readonly certificates: CertificateService
  readonly observer: ReceiptObserver
}

/** What becomes of pushes after they were sent, and what one can see of it. */
export function createPushReports(
  { database, stores, clock }: Foundation,
  { config: { traceMs, taskMs }, accounts, apps, certificates, observer }: PushReportsOptions,
): PushReports {
  const tasks = stores.pushTasks
  const batches = stores.pushBatches
  const deliveries = stores.pushDeliveries
  const operatorTasks = new OperatorTaskService({ database, store: tasks, apps, clock })
  const audiences = new AudienceCheck({
    database,
    audiences: stores.pushAudiences,
    preferences: stores.pushPreferences,
    members: stores.members,
  })
  return {
    operatorTasks,
    pushPurge: new PushPurge({
      database,
      apps,
      batches,
      deliveries,
      tasks,
      traceMs,
      taskMs,
      clock,
    }),
    pushReports: new ReportService({ database, deliveries, tasks, clock }),
    receipts: new ReceiptService({
      database,
      addresses: certificates,
      deliveries,
      tasks,
      tokens: new ReceiptTokens({ devices: stores.devices, bindings: stores.pushBindings }),
      observer,
      clock,
    }),
    traces: new TraceService({
      database,
      accounts,
      tasks,
      operatorTasks,
      batches,
      deliveries,
      recipients: stores.pushRecipients,
      devices: stores.devices,
      audiences,
      certificates,
      traceMs,
      clock,
    }),
  }
}
