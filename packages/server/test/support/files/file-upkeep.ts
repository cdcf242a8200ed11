import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { waitFor } from '@hermod/testkit'
import type { S3Options } from '../../../dist/blobs/s3/s3-options.js'
import type { DataPlace, Sql } from '../database/sql.js'
import { hermodEnvironment } from '../hermod-command.js'

const script = join(import.meta.dirname, 'file-upkeep-child.mjs')
const work = join(import.meta.dirname, 'file-upkeep-work.mjs')

/** The maintenance of files in a process of its own, which ends when there is nothing left to do. */
export function startUpkeep(place: DataPlace, hours: number): ChildProcess {
  return spawn(process.execPath, [script, JSON.stringify({ ...place, hours })], {
    env: hermodEnvironment({}),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Does what the maintenance tasks of files do, so many hours from now, to its end. */
export async function keepUp(place: DataPlace, hours: number, s3?: S3Options): Promise<void> {
  const { keepFilesUp } = await import(work)
  await keepFilesUp({ ...place, hours, s3 })
}

/**
 * As {@link keepUp}, which stops whenever it has seen that all has been followed.
 * @param atLook what happens then; it is told how often it has stopped before
 */
export async function keepUpInSteps(
  place: DataPlace,
  hours: number,
  atLook: (count: number) => Promise<void>,
): Promise<void> {
  const { keepFilesUp } = await import(work)
  let looks = 0
  await keepFilesUp({ ...place, hours }, () => atLook(looks++))
}

/** Waits until the consumer of references has followed everything that was committed. */
export async function followed(sql: Sql): Promise<void> {
  await waitFor(
    async () => {
      const behind = await sql.run(
        `select h.app_id from outbox_heads h left join outbox_positions p on p.app_id = h.app_id and p.consumer = 'files' where coalesce(p.position, 0) < h.position`,
      )
      return behind.length === 0
    },
    { what: 'references that are followed', timeoutMs: 20_000 },
  )
}
