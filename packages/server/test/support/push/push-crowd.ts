import type { Sql } from '../database/sql.js'

/** The IDs of a crowd follow this one. */
const beforeCrowd = 1_000_000

/** Many users with devices, made behind the service's back, as logins take their time. */
export interface PushCrowd {
  /** The user whose row theirs are made from. */
  readonly like: number
  readonly size: number
  /** Name of the certificate. */
  readonly notifier: string
  /** One of userStatus. */
  readonly status: number
  /** One in so many has a second device. Default: none */
  readonly oneWithTwoDevicesIn?: number
  /** What device tokens begin with; default: the gateway takes their pushes. */
  readonly token?: string
}

export async function addCrowd(
  sql: Sql,
  { like, size, notifier, status, oneWithTwoDevicesIn: share, token = 'of-crowd' }: PushCrowd,
): Promise<void> {
  const [row = {}] = await sql.run(`select * from users where user_id = ${like}`)
  const changes: Readonly<Record<string, string>> = {
    user_id: `${beforeCrowd} + n.i`,
    username: "'crowd_' || n.i",
    username_key: "'crowd_' || n.i",
    status: String(status),
  }
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${size})`
  const names = Object.keys(row)
  await sql.run(`${numbers} insert into users (${names})
    select ${names.map((name) => changes[name] ?? name)} from users, n where user_id = ${like}`)
  const bind = (deviceSn: number, condition: string) =>
    sql.run(`${numbers} insert into push_bindings
      (app_id, user_id, device_sn, notifier_name, device_token, bound_at, paused_until)
      select u.app_id, ${beforeCrowd} + n.i, ${deviceSn}, '${notifier}', '${token}-' || n.i || '-${deviceSn}', 1, 0
      from users u, n where u.user_id = ${like} and ${condition}`)
  await bind(1, 'true')
  if (share !== undefined) await bind(2, `n.i % ${share} = 0`)
}
