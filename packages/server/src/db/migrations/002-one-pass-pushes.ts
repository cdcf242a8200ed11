import { pushTaskState } from '@hermod/protocol/enums'
import { type Kysely, type Migration, sql } from '../kysely.js'

/** Reports something that operators should know of a migration. */
export type MigrationNotice = (fields: Readonly<Record<string, unknown>>, text: string) => void

interface TaskRow {
  readonly app_id: string
  readonly task_id: number
  readonly state: number
  readonly expires_at: number
}

/** A range of users whose devices are counted in the task and have no deliveries. */
interface UnwrittenBatch extends TaskRow {
  readonly opened_to: number
  readonly devices: number
  /** JSON: devices by channel */
  readonly targets: string
}

/** The position of a task whose audience is resolved. */
const endOfAudience = Number.MAX_SAFE_INTEGER

/**
 * Push tasks are resolved in one pass over their audience. The old form counted all devices first and wrote their deliveries later, in
 * batches. Tasks that are unfinished in that form are cancelled. Devices without a delivery leave the counts.
 */
export function onePassPushes(notice: MigrationNotice): Migration {
  return {
    async up(db: Kysely<never>): Promise<void> {
      for (const statement of columns) await sql.raw(statement).execute(db)
      const { rows: unwritten } = await sql<UnwrittenBatch>`
        select b.app_id, b.task_id, t.state, t.expires_at, b.opened_to, b.devices, b.targets
        from push_batches b join push_tasks t on t.app_id = b.app_id and t.task_id = b.task_id
        where b.opened_to < b.up_to and (b.devices > 0 or t.expires_at > ${Date.now()})`.execute(db)
      const { rows: unresolved } = await sql<TaskRow>`
        select app_id, task_id, state, expires_at from push_tasks
        where state in (${pushTaskState.waiting}, ${pushTaskState.expanding})`.execute(db)
      await sql`update push_tasks set position = ${endOfAudience} where state = ${pushTaskState.expanded}`.execute(
        db,
      )
      const byTask = new Map<string, UnwrittenBatch[]>()
      for (const batch of unwritten) {
        const name = JSON.stringify([batch.app_id, batch.task_id])
        byTask.set(name, [...(byTask.get(name) ?? []), batch])
      }
      for (const batches of byTask.values()) await leaveOut(db, batches)
      const tasks = [...unresolved, ...[...byTask.values()].flatMap(([first]) => first ?? [])]
      await cancel(db, tasks, notice)
      await sql`delete from jobs where kind = 'push.expand' and outcome = ''`.execute(db)
      await sql`drop table push_batches`.execute(db)
    },
  }
}

const columns = [
  'alter table push_tasks rename column expanded_to to position',
  'alter table push_tasks add column page integer not null default 1',
  'alter table push_tasks add column page_batch_id bigint not null default 0',
  'alter table push_tasks add column estimated_users bigint',
]

/** Takes the devices of batches of one task out of its counts. */
async function leaveOut(db: Kysely<never>, batches: readonly UnwrittenBatch[]): Promise<void> {
  const [first] = batches
  if (!first) return
  const { app_id, task_id } = first
  const position = Math.min(...batches.map(({ opened_to }) => opened_to))
  const devices = batches.reduce((sum, batch) => sum + batch.devices, 0)
  await sql`update push_tasks set position = ${position}, devices = devices - ${devices}
    where app_id = ${app_id} and task_id = ${task_id}`.execute(db)
  const targets = new Map<string, number>()
  for (const batch of batches)
    for (const [channel, count] of Object.entries<number>(JSON.parse(batch.targets)))
      targets.set(channel, (targets.get(channel) ?? 0) + count)
  for (const [channel, count] of targets)
    await sql`update push_task_counts set target = target - ${count}
      where app_id = ${app_id} and task_id = ${task_id} and channel = ${channel}`.execute(db)
}

async function cancel(
  db: Kysely<never>,
  tasks: readonly TaskRow[],
  notice: MigrationNotice,
): Promise<void> {
  const cancelled = new Set<string>()
  for (const { app_id, task_id, state } of tasks) {
    const name = JSON.stringify([app_id, task_id])
    if (state === pushTaskState.cancelled || cancelled.has(name)) continue
    cancelled.add(name)
    await sql`update push_tasks set state = ${pushTaskState.cancelled}, updated_at = ${Date.now()}
      where app_id = ${app_id} and task_id = ${task_id}`.execute(db)
    notice(
      { app: app_id, task: task_id },
      'push task cancelled: an earlier version began it in a form that is no longer continued',
    )
  }
}
