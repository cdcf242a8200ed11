import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { GroupCache } from '../../domain/groups/core/group-cache.js'
import { AudienceEstimate } from '../../domain/push/audience/audience-estimate.js'
import { AudienceReader } from '../../domain/push/audience/audience-reader.js'
import { AudienceStore } from '../../domain/push/audience/audience-store.js'
import { CertificateAdminService } from '../../domain/push/certificates/certificate-admin-service.js'
import { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { KnownCertificates } from '../../domain/push/certificates/certificate-model.js'
import { CertificateService } from '../../domain/push/certificates/certificate-service.js'
import { CertificateStore } from '../../domain/push/certificates/certificate-store.js'
import { PlanInputReader } from '../../domain/push/deliveries/plan-input-reader.js'
import { RecipientStore } from '../../domain/push/deliveries/recipient-inputs.js'
import { MessageAudience } from '../../domain/push/messages/message-audience.js'
import { MessagePushConsumer } from '../../domain/push/messages/message-push-consumer.js'
import { MessagePushService } from '../../domain/push/messages/message-push-service.js'
import { MessageRecipients } from '../../domain/push/messages/message-recipients.js'
import { MessageWithdrawal } from '../../domain/push/messages/message-withdrawal.js'
import { ReadMessageStore } from '../../domain/push/messages/read-message-store.js'
import { ReceiverStore } from '../../domain/push/messages/receiver-store.js'
import { PageWriter } from '../../domain/push/pages/page-writer.js'
import { PushPreferenceService } from '../../domain/push/preferences/push-preference-service.js'
import { pushJobHandlers } from '../../domain/push/push-job-handlers.js'
import { PushPurge } from '../../domain/push/push-purge.js'
import { ReceiptService } from '../../domain/push/receipts/receipt-service.js'
import { ReceiptTokens } from '../../domain/push/receipts/receipt-tokens.js'
import { ReportService } from '../../domain/push/receipts/report-service.js'
import { BatchSender } from '../../domain/push/sending/batch-sender.js'
import { DeliveryRecorder } from '../../domain/push/sending/delivery-recorder.js'
import { GatewayHolds } from '../../domain/push/sending/gateway-holds.js'
import { OperatorTaskService } from '../../domain/push/tasks/operator-task-service.js'
import { PushTaskService } from '../../domain/push/tasks/push-task-service.js'
import { TaskErasure } from '../../domain/push/tasks/task-erasure.js'
import { AudienceCheck } from '../../domain/push/trace/audience-check.js'
import { TraceService } from '../../domain/push/trace/trace-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { minuteMs } from '../../lib/clock.js'
import { BackgroundPause } from '../../lib/limits/background-pause.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { CoreChannel } from '../../push/core-channel.js'
import { expiryObserver } from '../adapters/certificate-expiry.js'
import type { PushGateways } from '../adapters/push-gateways.js'
import { outcomeObserver } from '../adapters/push-outcomes.js'
import { receiptObserver } from '../adapters/push-receipts.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { GroupServices } from './groups.js'

interface CreatePushOptions {
  readonly config: ServerConfig
  readonly accounts: AccountService
  readonly apps: AppService
  readonly core: CoreChannel
  readonly groups: Pick<GroupServices, 'groupCache'>
  readonly providers: PushGateways
  readonly secretBox: SecretBox
  /** The number of messages that this node has stored. */
  readonly countMessages: () => number
}

export function createPush(
  shared: Infrastructure,
  { config, accounts, apps, core, groups, providers, secretBox, countMessages }: CreatePushOptions,
) {
  const infrastructure = withPushStores(shared)
  const { database, stores, outbox, clock, log } = infrastructure
  const certificates = createCertificates(infrastructure, {
    apps,
    secretBox,
    inspector: providers,
    publicUrl: config.http.publicUrl,
  })
  const { pushCertificates, certificateExpiry } = certificates
  const tasks = createTasks(infrastructure, {
    apps,
    certificates: pushCertificates,
    core,
    senders: providers.senders,
    countMessages,
  })
  const messagePushes = createMessagePushes(infrastructure, {
    apps,
    certificates: pushCertificates,
    planInputs: tasks.planInputs,
    groups: groups.groupCache,
  })
  const reports = createReports(infrastructure, {
    config: config.push,
    accounts,
    apps,
    certificates: pushCertificates,
  })
  const pushPurge = new PushPurge({
    database,
    apps,
    deliveries: stores.pushDeliveries,
    tasks: stores.pushTasks,
    traceMs: config.push.traceMs,
    taskMs: config.push.taskMs,
    clock,
  })
  const observer = expiryObserver(log)
  return {
    services: {
      ...certificates,
      ...reports,
      pushPreferences: new PushPreferenceService({
        database,
        store: stores.pushPreferences,
        users: stores.users,
        accounts,
        outbox,
      }),
      pushTasks: tasks.pushTasks,
      taskErasure: new TaskErasure({ database, tasks: stores.pushTasks }),
    },
    consumers: [messagePushes],
    jobHandlers: pushJobHandlers(tasks),
    maintenanceTasks: [
      { name: 'old pushes', intervalMs: 10 * minuteMs, run: (signal) => pushPurge.run(signal) },
      {
        name: 'certificate expiry',
        intervalMs: 10 * minuteMs,
        run: () => certificateExpiry.notify(observer),
      },
    ],
  } satisfies Domain
}

type PushInfrastructure = ReturnType<typeof withPushStores>

/** Adds the stores that only pushes use. */
function withPushStores(infrastructure: Infrastructure) {
  const { database, caches, stores } = infrastructure
  return {
    ...infrastructure,
    stores: {
      ...stores,
      certificates: new CertificateStore(caches),
      pushAudiences: new AudienceStore(database),
      pushRecipients: new RecipientStore(database),
      readMessages: new ReadMessageStore(database),
      receivers: new ReceiverStore(database),
    },
  }
}

/**
 * The credentials of applications at push gateways.
 * @param options.publicUrl the URL at which gateways reach the service; null when they do not
 */
function createCertificates(
  { database, caches, stores, ids, clock }: PushInfrastructure,
  {
    apps,
    secretBox,
    inspector,
    publicUrl,
  }: {
    readonly apps: AppService
    readonly secretBox: SecretBox
    readonly inspector: PushGateways
    readonly publicUrl: string | null
  },
) {
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

/** Plans and sends pushes of messages to users who are away. */
function createMessagePushes(
  { database, stores, jobs, ids, clock }: PushInfrastructure,
  {
    apps,
    certificates,
    planInputs,
    groups,
  }: {
    readonly apps: AppService
    readonly certificates: KnownCertificates
    readonly planInputs: PlanInputReader
    readonly groups: GroupCache
  },
): MessagePushConsumer {
  const { receivers: store, pushTasks: tasks, pushDeliveries: deliveries, readMessages } = stores
  const messages = new MessagePushService({
    database,
    store,
    recipients: new MessageRecipients({ database, store, groups }),
    tasks,
    planInputs,
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
  return new MessagePushConsumer({ certificates, messages, withdrawal })
}

/** Plans tasks, and sends them to the gateways. */
function createTasks(
  { database, stores, jobs, ids, clock, log, metrics }: PushInfrastructure,
  {
    apps,
    certificates,
    core,
    senders,
    countMessages,
  }: {
    readonly apps: AppService
    readonly certificates: KnownCertificates
    readonly core: CoreChannel
    readonly senders: PushGateways['senders']
    readonly countMessages: () => number
  },
) {
  const shared = { database, clock, certificates, core }
  const tasks = stores.pushTasks
  const deliveries = stores.pushDeliveries
  const recipients = stores.pushRecipients
  const planInputs = new PlanInputReader({ apps, certificates, core, clock })
  const recorder = new DeliveryRecorder({
    database,
    clock,
    certificates: stores.certificates,
    jobs,
    random: Math.random,
  })
  const store = stores.pushAudiences
  const messages = new MessageAudience({ database, store: stores.receivers })
  const holds = new GatewayHolds(clock)
  // Writing and sending each have their own, so that neither waits for the rests of the other.
  const newPause = () => new BackgroundPause({ count: countMessages })
  return {
    planInputs,
    pushTasks: new PushTaskService({ database, clock, store: tasks, certificates, jobs, ids }),
    pause: newPause(),
    pageWriter: new PageWriter({
      database,
      clock,
      tasks,
      audiences: new AudienceReader({ database, store, core, messages }),
      estimate: new AudienceEstimate({ database, store, users: stores.userCounts, messages }),
      planInputs,
      holds,
      pause: newPause(),
      jobs,
      ids,
    }),
    batchSender: new BatchSender({
      ...shared,
      tasks,
      deliveries,
      recipients,
      senders,
      recorder,
      observer: outcomeObserver(log, metrics),
      holds,
    }),
  }
}

/** Receipts of sent pushes, and the views of them. */
function createReports(
  { database, stores, clock, log, metrics }: PushInfrastructure,
  {
    config: { traceMs },
    accounts,
    apps,
    certificates,
  }: {
    readonly config: ServerConfig['push']
    readonly accounts: AccountService
    readonly apps: AppService
    readonly certificates: CertificateService
  },
) {
  const tasks = stores.pushTasks
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
    pushReports: new ReportService({ database, deliveries, tasks, tokens: stores.tokens, clock }),
    receipts: new ReceiptService({
      database,
      addresses: certificates,
      deliveries,
      tasks,
      tokens: new ReceiptTokens({ devices: stores.devices, bindings: stores.pushBindings }),
      observer: receiptObserver(log, metrics),
      clock,
    }),
    traces: new TraceService({
      database,
      accounts,
      tasks,
      operatorTasks,
      deliveries,
      recipients: stores.pushRecipients,
      devices: stores.devices,
      bindings: stores.pushBindings,
      audiences,
      certificates,
      traceMs,
      clock,
    }),
  }
}
