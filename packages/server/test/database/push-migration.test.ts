/** Push tasks that an earlier version has begun, in each state, after migration 002 (decision 030). */
import { join } from 'node:path'
import { pushTaskState } from '@hermod/protocol'
import { startServer, TempFolder, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import { Migrator } from '../../dist/db/kysely.js'
import { initialMigration } from '../../dist/db/migrations/001-initial.js'
import { endOfAudience } from '../../dist/domain/push/tasks/task-model.js'
import { openSql, type Sql } from '../support/database/sql.js'

const app = 'test'
const hourMs = 3_600_000
const { waiting, expanding, expanded, cancelled } = pushTaskState

interface OldBatch {
  readonly openedTo: number
  readonly upTo: number
  readonly devices: number
  readonly targets: Readonly<Record<string, number>>
}

interface OldTask {
  readonly state: number
  readonly expandedTo: number
  readonly devices: number
  readonly targets: Readonly<Record<string, number>>
  readonly batches: readonly OldBatch[]
  readonly isOver?: boolean
}

const written = { openedTo: 20, upTo: 20, devices: 0, targets: {} }
const partly = { openedTo: 30, upTo: 50, devices: 7, targets: { vendor_h: 5, ios_gw: 2 } }
const unwritten = { openedTo: 50, upTo: 90, devices: 4, targets: { vendor_h: 4 } }
const left = { openedTo: 20, upTo: 50, devices: 0, targets: {} }

/** By ID. */
const oldTasks: Readonly<Record<number, OldTask>> = {
  101: { state: waiting, expandedTo: 0, devices: 0, targets: {}, batches: [] },
  102: {
    state: expanding,
    expandedTo: 90,
    devices: 17,
    targets: { vendor_h: 12, ios_gw: 5 },
    batches: [written, partly, unwritten],
  },
  103: {
    state: expanded,
    expandedTo: 90,
    devices: 8,
    targets: { vendor_h: 8 },
    batches: [written, unwritten],
  },
  104: {
    state: expanded,
    expandedTo: 20,
    devices: 3,
    targets: { vendor_h: 3 },
    batches: [written],
  },
  105: {
    state: cancelled,
    expandedTo: 90,
    devices: 6,
    targets: { vendor_h: 6 },
    batches: [written, unwritten],
  },
  106: {
    state: expanded,
    expandedTo: 50,
    devices: 5,
    targets: { vendor_h: 5 },
    batches: [left],
    isOver: true,
  },
}

async function insertTask(sql: Sql, taskId: number, task: OldTask): Promise<void> {
  const now = Date.now()
  const content = JSON.stringify({ audience: { kind: 'all' } })
  const expiresAt = task.isOver ? now - hourMs : now + hourMs
  await sql.run(`insert into push_tasks
    (app_id, task_id, msg_id, request_id, content, state, expanded_to, devices, finished, begins_at, expires_at, created_at, updated_at)
    values ('${app}', ${taskId}, 0, '', '${content}', ${task.state}, ${task.expandedTo}, ${task.devices}, 0, ${now}, ${expiresAt}, ${now}, ${now})`)
  for (const [channel, target] of Object.entries(task.targets))
    await sql.run(`insert into push_task_counts (app_id, task_id, channel, target, sent, received)
      values ('${app}', ${taskId}, '${channel}', ${target}, 0, 0)`)
  for (const [index, { openedTo, upTo, devices, targets }] of task.batches.entries())
    await sql.run(`insert into push_batches (app_id, batch_id, task_id, opened_to, up_to, devices, targets)
      values ('${app}', ${taskId * 10 + index}, ${taskId}, ${openedTo}, ${upTo}, ${devices}, '${JSON.stringify(targets)}')`)
  if (task.state === waiting || task.state === expanding)
    await sql.run(`insert into jobs (app_id, job_id, kind, key, payload, run_at, created_at, updated_at)
      values ('${app}', ${taskId}, 'push.expand', '${taskId}', '{"taskId":${taskId}}', 0, 0, 0)`)
}

for (const backend of testBackends()) {
  describe(`migration 002 on ${backend.name}`, { timeout: 60_000 }, () => {
    it('cancels the unfinished push tasks of the two-pass form, and leaves devices without a delivery out of the counts', async () => {
      using folder = new TempFolder('push-migration')
      await using made = await backend.createDatabase()
      const { url } = made
      const place = { dataDir: folder.path, databaseUrl: url }
      {
        await using database = new Database(
          url === undefined
            ? sqliteDialect(join(folder.path, 'hermod.db'))
            : postgresDialect({ url, poolSize: 2, onError: () => {} }),
        )
        const provider = {
          getMigrations: async () => ({ '001-initial': initialMigration(database.dialect) }),
        }
        const { error } = await new Migrator({ db: database.writer, provider }).migrateToLatest()
        expect(error).toBeUndefined()
      }
      {
        await using sql = await openSql(place)
        for (const [taskId, task] of Object.entries(oldTasks))
          await insertTask(sql, Number(taskId), task)
      }
      const server = await startServer({
        dataDir: folder.path,
        ...(url === undefined ? {} : { databaseUrl: url }),
      })
      await server.stop()

      const notices = server
        .output()
        .split('\n')
        .filter((line) => line.includes('push task cancelled'))
        .map((line) => JSON.parse(line))
      expect(notices.map(({ level, app: appId, task }) => [level, appId, task])).toEqual(
        [101, 102, 103].map((taskId) => [notices[0]?.level, app, taskId]),
      )
      await using sql = await openSql(place)
      const tasks = await sql.run(
        'select task_id, state, position, devices from push_tasks order by task_id',
      )
      expect(tasks.map((row) => Object.values(row).map(Number))).toEqual([
        [101, cancelled, 0, 0],
        [102, cancelled, 30, 6],
        [103, cancelled, 50, 4],
        [104, expanded, endOfAudience, 3],
        [105, cancelled, 50, 2],
        [106, expanded, endOfAudience, 5],
      ])
      const counts = await sql.run(
        'select task_id, channel, target from push_task_counts order by task_id, channel',
      )
      expect(counts.map((row) => Object.values(row).map(String))).toEqual([
        ['102', 'ios_gw', '3'],
        ['102', 'vendor_h', '3'],
        ['103', 'vendor_h', '4'],
        ['104', 'vendor_h', '3'],
        ['105', 'vendor_h', '2'],
        ['106', 'vendor_h', '5'],
      ])
      const jobs = await sql.run("select kind from jobs where kind = 'push.expand'")
      expect(jobs).toEqual([])
    })
  })
}
