/** What clients ask about the application itself, and what the operator does. */
import * as api from '@hermod/protocol'
import { type Fixture, fixture, type WalkContext } from './walk-fixture.js'
import type { Params } from './walk-world.js'

const hereAsApp = ({ world }: WalkContext) => ({ app_id: world.here.appId })
const subjectHere = (context: WalkContext) => ({
  ...hereAsApp(context),
  user_id: context.subject.id,
})
/** Of a gateway that refuses connections. */
const pushCertificate = ({ world }: Pick<WalkContext, 'world'>) => ({
  app_id: world.there.appId,
  name: 'walk',
  channel: 'vendor_f' as const,
  gateway_app_id: '1',
  app_secret: 'walk-secret',
  send_url: 'http://127.0.0.1:9',
})
const issuer = { issuer: 'walk', hmac_secret: 'a-secret-of-more-than-thirty-two-bytes' }
/** Nothing listens there, and no request leaves the machine. */
const webhook = { url: 'http://localhost:9/hook' }

/** Leaves the application one endpoint, so that its limit is never reached. */
async function onlyEndpoint({ world }: WalkContext): Promise<{ readonly endpoint_id: number }> {
  const { appId, adminToken } = world.here
  const admin = { appId, token: adminToken }
  const listed = await world.prepare(api.listWebhooks, admin)
  for (const { endpoint_id } of listed?.data ?? [])
    await world.prepare(api.deleteWebhook, admin, { endpoint_id })
  const made = await world.prepare(api.createWebhook, admin, webhook)
  return { endpoint_id: made?.data.endpoint_id ?? 0 }
}
/** An Admin token of its own. */
async function newToken(context: WalkContext): Promise<Params> {
  const params = { ...hereAsApp(context), name: 'walk' }
  const made = await context.world.prepare(api.createAdminToken, context.world.operator, params)
  return { ...hereAsApp(context), token_id: made?.data.token_id ?? 0 }
}
/** Leaves the application one issuer, so that its limit is never reached. */
async function newIssuer(context: WalkContext): Promise<Params> {
  const { world } = context
  const app = hereAsApp(context)
  const listed = await world.prepare(api.listIdentityIssuers, world.operator, app)
  for (const { issuer } of listed?.data ?? [])
    await world.prepare(api.removeIdentityIssuer, world.operator, { ...app, issuer })
  await world.prepare(api.setIdentityIssuer, world.operator, { ...app, ...issuer })
  return { ...app, issuer: issuer.issuer }
}
/** An import that has begun. */
async function newImport(context: WalkContext): Promise<Params> {
  const { world, subject } = context
  const groups = [{ external_id: 'walk', owner_id: subject.id }]
  const params = { ...hereAsApp(context), source: world.newName() }
  await world.prepare(api.importGroups, world.operator, { ...params, groups })
  return params
}
const victim = { needsVictim: true }
const noFile = { error: 'file_not_found' } as const
const noUser = { error: 'user_not_found' } as const
const noPush = { error: 'push_task_not_found' } as const

export const operatorFixtures: readonly Fixture[] = [
  fixture(api.getAppFlags, { platform: 1 }),
  fixture(api.checkUsername, ({ world }) => ({ username: world.newName() })),

  fixture(api.listAlerts),
  fixture(api.testAlert, {}, { error: 'alerts_unset' }),
  fixture(api.createApp),
  fixture(api.listApps),
  fixture(api.updateApp, ({ world }) => ({ app_id: world.there.appId, name: 'There' })),
  fixture(api.createAdminToken, (context) => ({ ...hereAsApp(context), name: 'walk' })),
  fixture(api.listAdminTokens, hereAsApp),
  fixture(api.updateAdminToken, async (context) => ({
    ...(await newToken(context)),
    scopes: ['push'],
  })),
  fixture(api.revokeAdminToken, newToken),
  fixture(api.setPushCertificate, pushCertificate),
  fixture(api.listPushCertificates, hereAsApp),
  ...[api.removePushCertificate, api.checkPushCertificate].map((operation) =>
    fixture(operation, async ({ world }) => {
      const { app_id, name, ...more } = pushCertificate({ world })
      await world.prepare(api.setPushCertificate, world.operator, { app_id, name, ...more })
      return { app_id, name }
    }),
  ),
  fixture(api.setIdentityIssuer, (context) => ({ ...hereAsApp(context), ...issuer })),
  fixture(api.listIdentityIssuers, hereAsApp),
  fixture(api.removeIdentityIssuer, newIssuer),
  fixture(api.renameIdentityIssuer, async (context) => ({
    ...(await newIssuer(context)),
    new_issuer: context.world.newName(),
  })),
  fixture(api.testAssertion, (context) => ({ ...hereAsApp(context), assertion: 'a.b.c' })),
  fixture(api.listPushTasks, hereAsApp),
  ...[api.getPushTask, api.cancelPushTask].map((operation) =>
    fixture(operation, (context) => ({ ...hereAsApp(context), task_id: 1 }), noPush),
  ),
  fixture(api.tracePushByOperator, (context) => ({ ...subjectHere(context), task_id: 1 }), noPush),
  fixture(api.listFiles, hereAsApp),
  fixture(api.getFileUsage),
  fixture(api.revokeFileLinks, ({ world }) => ({ app_id: world.there.appId })),
  ...[api.getFile, api.deleteFile].map((operation) =>
    fixture(operation, (context) => ({ ...hereAsApp(context), file_id: 'none' }), noFile),
  ),
  // Their jobs would go on beside the calls of other operations.
  fixture(
    api.eraseUser,
    (context) => ({ ...hereAsApp(context), user_id: 1, messages: 'keep' as const, reason: 'walk' }),
    noUser,
  ),
  fixture(api.exportUserData, (context) => ({ ...hereAsApp(context), user_id: 1 }), noUser),
  fixture(api.listErasures, hereAsApp),
  fixture(api.checkErased, subjectHere),
  fixture(api.setHold, (context) => ({ ...subjectHere(context), name: 'walk', reason: 'walk' })),
  fixture(api.releaseHold, (context) => ({ ...hereAsApp(context), name: 'none' }), {
    error: 'hold_not_found',
  }),
  fixture(api.importGroups, (context) => ({
    ...{ ...hereAsApp(context), source: 'walk' },
    groups: [{ external_id: context.world.newName(), owner_id: context.subject.id }],
  })),
  fixture(api.importMessages, (context) => ({
    ...{ ...hereAsApp(context), source: 'walk' },
    messages: [
      {
        ...{ external_id: context.world.newName(), created_at: 1_500_000_000_000, content: 'x' },
        ...{ sender_id: context.subject.id, peer_id: context.subject.id },
      },
    ],
  })),
  fixture(api.importMembers, async (context) => {
    const { world, subject, friend } = context
    const params = { ...hereAsApp(context), source: 'walk' }
    const groups = [{ external_id: world.newName(), owner_id: friend.id }]
    const made = await world.prepare(api.importGroups, world.operator, { ...params, groups })
    const group_id = made?.data.results[0]?.group_id
    return { ...params, members: [{ user_id: subject.id, group_id, role: 1 }] }
  }),
  fixture(api.findImportedMessages, (context) => ({
    ...{ ...hereAsApp(context), source: 'walk' },
    external_ids: [context.world.newName()],
  })),
  fixture(api.getImportStatus, hereAsApp),
  fixture(api.finishImport, newImport),
  fixture(api.listHolds),
  fixture(api.checkIntegrity),
  ...[api.createBackup, api.listBackups, api.pruneBackups, api.verifyBackup].map((operation) =>
    fixture(operation, {}, { error: 'backup_refused' }),
  ),
  fixture(api.listJobs),
  ...[api.getJob, api.cancelJob].map((operation) =>
    fixture(operation, { job_id: 1 }, { error: 'job_not_found' }),
  ),
  fixture(api.endMaintenance),
  fixture(api.beginMaintenance),
  // It follows the one above, and the rest of the walk writes.
  fixture(api.getServiceStatus, async ({ world }) => {
    await world.prepare(api.endMaintenance, world.operator)
    return {}
  }),
  fixture(api.listNodes),
  ...[api.drainNode, api.removeNode].map((operation) =>
    fixture(operation, { node_id: 'none' }, { error: 'node_not_found' }),
  ),
  fixture(api.getRestoreStatus),
  fixture(api.finishRestore, {}, { error: 'not_restored' }),
  fixture(api.rotateSecretKey),
  fixture(api.retireSecretKey),
  fixture(api.createWebhook, async (context) => {
    await onlyEndpoint(context)
    return webhook
  }),
  fixture(api.createWebhookByOperator, async (context) => {
    await onlyEndpoint(context)
    return { ...hereAsApp(context), ...webhook }
  }),
  fixture(api.listWebhooks),
  fixture(api.listWebhooksByOperator, hereAsApp),
  ...[api.updateWebhook, api.deleteWebhook, api.testWebhook, api.listWebhookAttempts].map(
    (operation) => fixture(operation, onlyEndpoint),
  ),
  ...[
    api.updateWebhookByOperator,
    api.deleteWebhookByOperator,
    api.testWebhookByOperator,
    api.listWebhookAttemptsByOperator,
  ].map((operation) =>
    fixture(operation, async (context) => ({
      ...hereAsApp(context),
      ...(await onlyEndpoint(context)),
    })),
  ),
  fixture(api.replayWebhook, async (context) => ({
    ...(await onlyEndpoint(context)),
    dead: true,
  })),
  fixture(api.replayWebhookByOperator, async (context) => ({
    ...hereAsApp(context),
    ...(await onlyEndpoint(context)),
    dead: true,
  })),
  fixture(api.createUser, (context) => ({
    ...hereAsApp(context),
    username: context.world.newName(),
  })),
  fixture(api.importUsers, (context) => ({
    ...hereAsApp(context),
    users: [{ username: context.world.newName() }],
  })),
  fixture(api.exportUsers, (context) => ({ ...hereAsApp(context), limit: 5 })),
  ...[api.disableUser, api.enableUser, api.deleteUserByOperator, api.resetUserPassword].map(
    (operation) => fixture(operation, subjectHere, victim),
  ),
]
