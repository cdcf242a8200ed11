/**
 * Calls that succeed, of operations whose fixture in the walk of all callers answers an error or
 * too little for an example.
 */
import * as api from '@hermod/protocol'
import { type Envelope, GatewayClient, type Json } from '@hermod/testkit'
import { fileIdOf, fileTypes, png, signOf, targets, upload } from '../files/files.js'
import { endOfJob } from '../long-jobs.js'
import { asSubject } from '../walk/walk-fixture.js'
import { assertionIn } from '../walk/walk-fixtures-users.js'
import type { Params } from '../walk/walk-world.js'
import { type ExampleWorld, pushBinding, pushChannel } from './example-world.js'

/** A call of one operation. */
export interface Recipe {
  readonly params: (example: ExampleWorld) => Params | Promise<Params>
  /** Makes a call that is more than a request with JSON. */
  readonly call?: (example: ExampleWorld, params: Params) => Promise<Envelope>
}

const hereAsApp = ({ context }: ExampleWorld) => ({ app_id: context.world.here.appId })

async function prepare(
  { context }: ExampleWorld,
  operation: unknown,
  as: 'subject' | 'operator',
  params: Params = {},
): Promise<Json> {
  const { world } = context
  const identity = as === 'subject' ? asSubject(context) : world.operator
  return (await world.prepare(operation as api.Operation, identity, params))?.data
}

// Users of another system

const identityRecipes: Readonly<Record<string, Recipe>> = {
  [api.issueToken.id]: {
    params: () => ({
      ...{ issuer: 'app', subject: '4711', device_guid: 'a-browser' },
      create: { nick_name: 'Ann' },
    }),
  },
  [api.findUsers.id]: { params: () => ({ issuer: 'app', subjects: ['4711', '4712'] }) },
  [api.setIdentityIssuer.id]: {
    params: (example) => ({
      ...hereAsApp(example),
      issuer: 'https://login.example.com',
      jwks_url: 'https://login.example.com/jwks.json',
      audience: ['chat'],
    }),
  },
}

// Files

const toFriend = ({ context: { friend } }: ExampleWorld) => ({
  to_id: friend.id,
  to_type: targets.user,
  file_type: fileTypes.picture,
})

async function chatTicket(example: ExampleWorld): Promise<api.UploadTicket> {
  return prepare(example, api.getChatUploadTicket, 'subject', toFriend(example))
}

async function sent(example: ExampleWorld, ticket: api.UploadTicket): Promise<string> {
  await upload(example.server.http, ticket, png, { name: 'picture.png' })
  return ticket.download_url
}

const picture = async (example: ExampleWorld) => sent(example, await chatTicket(example))
const fileOfApp = async (example: ExampleWorld) => ({
  ...hereAsApp(example),
  file_id: fileIdOf(await picture(example)),
})
const ticketIn = (url: string) => ({ ticket: new URL(url).searchParams.get('ticket') })

const fileRecipes: Readonly<Record<string, Recipe>> = {
  [api.uploadFile.id]: {
    params: async (example) => ticketIn((await chatTicket(example)).upload_url),
    call: async (example) =>
      (await upload(example.server.http, await chatTicket(example), png)).envelope,
  },
  [api.forwardFile.id]: {
    params: async (example) => ({
      ...{ file_sign: signOf(await picture(example)), to_type: targets.user },
      to_id: await example.context.world.stranger(),
    }),
  },
  [api.downloadChatFile.id]: {
    params: async (example) => ({ file_sign: signOf(await picture(example)) }),
  },
  [api.downloadAvatar.id]: {
    params: async (example) => {
      const ticket = await prepare(example, api.getUserAvatarUploadTicket, 'subject')
      const url = new URL(await sent(example, ticket))
      return Object.fromEntries(url.searchParams)
    },
  },
  [api.getFile.id]: { params: fileOfApp },
  [api.deleteFile.id]: { params: fileOfApp },
}

// Pushes

async function task(example: ExampleWorld, message: Params = {}): Promise<{ task_id: number }> {
  const { world, subject } = example.context
  const { adminToken: token, appId } = world.here
  await prepare(example, api.bindPushToken, 'subject', pushBinding)
  const started = await world.prepare(
    api.startPushTask as api.Operation,
    { token, appId },
    {
      audience: { user_id: [subject.id] },
      message: { title: 'News', body: 'There is some.', ...message },
    },
  )
  return { task_id: started?.data.task_id }
}

/** Waits for the gateway's answers. */
async function endedTask(example: ExampleWorld): Promise<{ task_id: number }> {
  const started = await task(example)
  await example.waitForTask(started.task_id)
  return started
}
const taskOfApp = async (example: ExampleWorld) => ({
  ...hereAsApp(example),
  ...(await endedTask(example)),
})
const subjectOf = ({ context: { subject } }: ExampleWorld) => ({ user_id: subject.id })
const tomorrow = () => Math.floor(Date.now() / 1000) + 86_400

/** Over the socket, where alone such an operation works. */
async function callInSession(
  { server, context: { subject } }: ExampleWorld,
  operation: { readonly id: string },
  params: Params,
): Promise<Envelope> {
  using client = await GatewayClient.connect(server.url)
  await client.open({ appId: subject.appId, accessToken: subject.token })
  const { id: _, ...envelope } = await client.call(operation.id, params)
  return envelope
}

const certificate = ({ context }: ExampleWorld) => ({
  ...{ app_id: context.world.there.appId, name: 'main', channel: 'vendor_f' },
  ...{ gateway_app_id: '1', app_secret: 'secret-of-the-gateway' },
})

const pushRecipes: Readonly<Record<string, Recipe>> = {
  [api.getPushCertificate.id]: { params: () => ({ provider: 1 }) },
  [api.listPushCertificates.id]: {
    // Of an application without pushes, whose times do not change.
    params: async (example) => {
      const { app_id } = certificate(example)
      await prepare(example, api.setPushCertificate, 'operator', certificate(example))
      return { app_id }
    },
  },
  [api.checkPushCertificate.id]: {
    params: (example) => ({ ...hereAsApp(example), name: pushChannel }),
  },
  [api.reportPush.id]: {
    params: async (example) => ({ ...(await endedTask(example)), action: 'clicked' }),
  },
  [api.listPushTaskStatistics.id]: {
    params: async (example) => ({ list: [(await endedTask(example)).task_id] }),
  },
  [api.tracePush.id]: {
    params: async (example) => ({ ...(await endedTask(example)), ...subjectOf(example) }),
  },
  [api.getPushTask.id]: { params: taskOfApp },
  [api.cancelPushTask.id]: {
    params: async (example) => ({
      ...hereAsApp(example),
      ...(await task(example, { show_begin_time: tomorrow() })),
    }),
  },
  [api.tracePushByOperator.id]: {
    params: async (example) => ({ ...(await taskOfApp(example)), ...subjectOf(example) }),
  },
  [api.subscribePresence.id]: {
    params: ({ context }) => ({ user_ids: [context.friend.id] }),
    call: (example, params) => callInSession(example, api.subscribePresence, params),
  },
  [api.receivePush.id]: {
    params: async (example) => ({ task_ids: [(await endedTask(example)).task_id] }),
    call: (example, params) => callInSession(example, api.receivePush, params),
  },
}

// Operators

async function doomed(example: ExampleWorld): Promise<Params> {
  const { id } = await example.context.world.newPerson()
  return { ...hereAsApp(example), user_id: id }
}

async function erased(example: ExampleWorld): Promise<Params> {
  const { app_id, user_id } = await doomed(example)
  const order = { app_id, user_id, messages: 'keep', reason: 'The user asked for it.' }
  const { job_id } = await prepare(example, api.eraseUser, 'operator', order)
  await endOfJob(example.server, job_id)
  return { app_id, user_id }
}

/** An endpoint that takes events. */
async function endpoint(example: ExampleWorld): Promise<Params> {
  const made = await prepare(example, api.createWebhook, 'subject', { url: example.receiverUrl })
  return { endpoint_id: made.endpoint_id }
}

const operatorRecipes: Readonly<Record<string, Recipe>> = {
  [api.createApp.id]: { params: () => ({ app_id: 'helpdesk', name: 'Help desk' }) },
  [api.testAssertion.id]: {
    params: async (example) => ({
      ...hereAsApp(example),
      assertion: await assertionIn(example.context.world),
    }),
  },
  [api.eraseUser.id]: {
    params: async (example) => ({
      ...(await doomed(example)),
      ...{ messages: 'keep', reason: 'The user asked for it.' },
    }),
  },
  [api.exportUserData.id]: { params: doomed },
  [api.releaseHold.id]: {
    params: async (example) => {
      const hold = { ...hereAsApp(example), name: 'case-12' }
      const more = { ...subjectOf(example), reason: 'A court asked for it.' }
      await prepare(example, api.setHold, 'operator', { ...hold, ...more })
      return hold
    },
  },
  [api.createBackup.id]: { params: (example) => example.backupFolder },
  ...of([api.listBackups, api.verifyBackup, api.pruneBackups], async (example) => {
    await example.backup()
    return example.backupFolder
  }),
  [api.checkErased.id]: { params: erased },
  ...of([api.testWebhook, api.updateWebhook], endpoint),
  ...of([api.testWebhookByOperator, api.updateWebhookByOperator], async (example) => ({
    ...hereAsApp(example),
    ...(await endpoint(example)),
  })),
  [api.listWebhooks.id]: {
    params: async (example) => {
      await endpoint(example)
      return {}
    },
  },
  [api.listWebhooksByOperator.id]: {
    params: async (example) => {
      await endpoint(example)
      return hereAsApp(example)
    },
  },
  ...of([api.getJob, api.cancelJob], (example) => example.backup()),
  [api.finishRestore.id]: {
    params: async (example) => {
      await example.restore()
      return { end_logins: false }
    },
  },
}

function of(
  operations: readonly { readonly id: string }[],
  params: Recipe['params'],
): Readonly<Record<string, Recipe>> {
  return Object.fromEntries(operations.map(({ id }) => [id, { params }]))
}

/** By the ids of the operations. */
export const recipes: Readonly<Record<string, Recipe>> = {
  ...identityRecipes,
  ...fileRecipes,
  ...pushRecipes,
  ...operatorRecipes,
}
