import { join } from 'node:path'
import { whenUnlocked } from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'

export interface HeldWrites extends AsyncDisposable {
  /** Lets the writes go on; a second call does nothing. */
  release(): Promise<void>
}

/**
 * Keeps every message from being stored, as a slow disk would: what the server has accepted stays under way.
 * @param table what nothing is stored in on PostgreSQL; in the embedded database nothing at all is stored
 */
export async function holdWrites(
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | undefined },
  table = 'messages',
): Promise<HeldWrites> {
  const release = once(
    databaseUrl === undefined
      ? await holdEmbedded(join(dataDir, 'hermod.db'))
      : await holdPostgres(databaseUrl, table),
  )
  return { release, [Symbol.asyncDispose]: release }
}

async function holdEmbedded(path: string): Promise<() => Promise<void>> {
  const database = new DatabaseSync(path, { timeout: 0 })
  await whenUnlocked(() => database.exec('begin immediate'))
  return async () => database.close()
}

async function holdPostgres(url: string, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(`lock table ${table} in exclusive mode`)
  return () => client.end()
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => {
    done ??= work()
    return done
  }
}
