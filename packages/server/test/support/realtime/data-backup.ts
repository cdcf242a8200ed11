/** A copy of the data of a server that does not run, and the way back to it. */
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import pg from 'pg'

export class DataBackup implements AsyncDisposable {
  readonly #folder = new TempFolder('backup')

  private constructor(
    private readonly dataDir: string,
    private readonly databaseUrl: string | undefined,
  ) {}

  static async make(dataDir: string, databaseUrl: string | undefined): Promise<DataBackup> {
    const backup = new DataBackup(dataDir, databaseUrl)
    // SQLite makes the shared memory again, and a connection that closes removes it at any moment.
    const isData = (path: string) => !path.endsWith('.db-shm')
    await cp(dataDir, backup.#folder.path, { recursive: true, filter: isData })
    if (databaseUrl !== undefined)
      await administer(databaseUrl, ({ copy, name }) => [
        `create database ${copy} template ${name}`,
      ])
    return backup
  }

  async restore(): Promise<void> {
    for (const entry of await readdir(this.dataDir))
      await rm(join(this.dataDir, entry), { recursive: true })
    await cp(this.#folder.path, this.dataDir, { recursive: true })
    if (this.databaseUrl !== undefined)
      await administer(this.databaseUrl, ({ copy, name }) => [
        `drop database ${name} with (force)`,
        `create database ${name} template ${copy}`,
      ])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#folder[Symbol.dispose]()
    if (this.databaseUrl !== undefined)
      await administer(this.databaseUrl, ({ copy }) => [`drop database if exists ${copy}`])
  }
}

/** Runs statements about a database and its copy, from outside of both. */
async function administer(
  databaseUrl: string,
  statements: (names: { readonly name: string; readonly copy: string }) => readonly string[],
): Promise<void> {
  const url = new URL(databaseUrl)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  const client = new pg.Client({ connectionString: String(url) })
  await client.connect()
  try {
    for (const statement of statements({ name, copy: `${name}_copy` }))
      await client.query(statement)
  } finally {
    await client.end()
  }
}
