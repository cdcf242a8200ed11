/** Applications with users who have one device each, bound to a simulated gateway. */
import {
  certificateFields,
  type SimulatedCertificate,
  type SimulatedChannel,
} from '@hermod/push-simulator'
import { type Api, waitFor } from '@hermod/testkit'
import type { StoredServer } from '../measure/build.js'
import { apiOfNewApp } from '../population/broadcasts.js'
import { createImportedUsers } from '../population/imported-users.js'

/** An application with devices of one channel. */
export interface PushApp {
  readonly appId: string
  /** Calls with the Admin token. */
  readonly admin: Api
  readonly channel: SimulatedChannel
  readonly userIds: readonly number[]
}

/** Message of every push. */
const message = { title: 'News', body: 'The quick brown fox jumps over the lazy dog.' }
const certificateName = 'bench'

/** Creates an application whose users have one device each. */
export async function makePushApp(
  { process, sql }: StoredServer,
  certificate: SimulatedCertificate,
  users: number,
): Promise<PushApp> {
  const { channel } = certificate
  const operator = process.api.as(process.operatorToken)
  const own = await apiOfNewApp(process.api, operator)
  const { appId } = own.options
  const userIds = await createImportedUsers(operator, appId, channel, users)
  await operator.succeed('POST', '/operator/v1/push/certificate/set', {
    body: {
      app_id: appId,
      name: certificateName,
      environment: 1,
      ...certificateFields(certificate),
    },
  })
  for (const statement of await deviceStatements(sql, appId)) await sql(statement)
  return { appId, admin: own.admin(), channel, userIds }
}

/** Gives each user a device with a token of 64 hexadecimal digits. */
async function deviceStatements(sql: StoredServer['sql'], appId: string): Promise<string[]> {
  const hex = (await isPostgres(sql))
    ? `lpad(to_hex(user_id), 64, '0')`
    : `printf('%064x', user_id)`
  const ofUsers = `from users where app_id = '${appId}'`
  return [
    `insert into devices (app_id, user_id, device_sn, device_guid, platform, user_agent, push_token,
      created_at, last_used_at) select app_id, user_id, 1, 'bench', 0, '', '', 0, 0 ${ofUsers}`,
    `insert into push_bindings (app_id, user_id, device_sn, notifier_name, device_token, bound_at)
      select app_id, user_id, 1, '${certificateName}', ${hex}, 0 ${ofUsers}`,
  ]
}

/** Tests for PostgreSQL; SQLite has no function `version`. */
async function isPostgres(sql: StoredServer['sql']): Promise<boolean> {
  return sql('select version()').then(
    () => true,
    () => false,
  )
}

/**
 * @param changes of the request, such as another audience
 * @returns the ID of the task
 */
export async function notify({ admin }: PushApp, changes: object = {}): Promise<number> {
  const body = { audience: 'all', message, ...changes }
  return (await admin.succeed('POST', '/push/notify', { body })).data.task_id
}

/** Number of devices for which a gateway has accepted the push. */
export async function sentOf({ admin, channel }: PushApp, taskId: number): Promise<number> {
  const body = { list: [taskId] }
  const { data } = await admin.succeed('POST', '/push/task/detail', { body })
  return data[0]?.[`${channel}_sent`] ?? 0
}

const perRequest = 500
const sentTimeoutMs = 60_000

/** Sends to a few users and waits, so that credentials are exchanged and code is compiled. */
export async function warmUp(app: PushApp): Promise<void> {
  const userIds = app.userIds.slice(0, perRequest)
  const taskId = await notify(app, { audience: { user_id: userIds } })
  await waitFor(async () => (await sentOf(app, taskId)) === userIds.length, {
    what: `${app.channel} to take the first pushes`,
    timeoutMs: sentTimeoutMs,
  })
}
