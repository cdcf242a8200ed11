import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { waitFor } from '@hermod/testkit'
import type { S3Options } from '../../dist/blobs/s3/s3-options.js'
import { hermodEnvironment } from './hermod-command.js'
import type { DataPlace, Sql } from './sql.js'

const script = join(import.meta.dirname, 'file-upkeep-child.mjs')

/** The maintenance of files in a process of its own, which ends when there is nothing left to do. */
export function startUpkeep(
  place: DataPlace,
  options: { readonly hours: number; readonly s3?: S3Options | undefined },
): ChildProcess {
  return spawn(process.execPath, [script, JSON.stringify({ ...place, ...options })], {
    env: hermodEnvironment({}),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Does what the maintenance tasks of files do, so many hours from now, to its end. */
export async function keepUp(place: DataPlace, hours: number, s3?: S3Options): Promise<void> {
  const child = startUpkeep(place, { hours, s3 })
  child.stdout?.resume()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the maintenance of files ended with ${code}`)
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
