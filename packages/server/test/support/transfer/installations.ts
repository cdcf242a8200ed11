/** Installations without a service, and the commands that move data between them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Backend, memoryDisk, TempFolder } from '@hermod/testkit'
import { Database } from '../../../dist/db/database.js'
import { migrate } from '../../../dist/db/migrations/migrate.js'
import type { Digest } from '../../../dist/transfer/digest.js'
import { openDialect } from '../database/database-place.js'
import { callHermod, type CommandResult } from '../hermod-command.js'
import { fillMessages, fillTables } from './filled-tables.js'

export const secretKey = 'k'.repeat(40)

/** A place for an installation, with nothing in it. */
export class Installation implements AsyncDisposable {
  secretKey = secretKey
  /** The address of the installation; undefined: none is set. */
  publicUrl: string | undefined

  private constructor(
    private readonly folder: TempFolder,
    private readonly database: AsyncDisposable & { readonly url: string | undefined },
  ) {}

  static async create(backend: Backend): Promise<Installation> {
    return new Installation(
      new TempFolder('transfer', memoryDisk()),
      await backend.createDatabase(),
    )
  }

  /** A place for an installation with an embedded database. */
  static embedded(): Installation {
    const database = { url: undefined, [Symbol.asyncDispose]: async () => {} }
    return new Installation(new TempFolder('transfer', memoryDisk()), database)
  }

  /** An embedded installation that has its tables and no rows. */
  static withoutRows(): Promise<Installation> {
    return Installation.#with(async () => {})
  }

  /** An embedded installation that has rows in every table. */
  static filled(): Promise<Installation> {
    return Installation.#with(fillTables)
  }

  /** An embedded installation that has an application with messages. */
  static withMessages(count: number): Promise<Installation> {
    return Installation.#with((database) => fillMessages(database, count))
  }

  static async #with(fill: (database: Database) => Promise<void>): Promise<Installation> {
    const installation = Installation.embedded()
    installation.makeFolder()
    await using database = new Database(openDialect(installation))
    await migrate(database)
    await fill(database)
    return installation
  }

  get dataDir(): string {
    return join(this.folder.path, 'data')
  }

  get databaseUrl(): string | undefined {
    return this.database.url
  }

  /** For exports of it. */
  get exportFolder(): string {
    return join(this.folder.path, 'export')
  }

  get settings() {
    return {
      HERMOD_DATA_DIR: this.dataDir,
      HERMOD_DATABASE_URL: this.databaseUrl,
      HERMOD_SECRET_KEY: this.secretKey,
      HERMOD_PUBLIC_URL: this.publicUrl,
    }
  }

  /** Makes the folder of its files, as a service does. */
  makeFolder(): void {
    mkdirSync(join(this.dataDir, 'files'), { recursive: true, mode: 0o700 })
  }

  hermod(...args: readonly string[]): Promise<CommandResult> {
    return callHermod(args, this.settings)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}

/** Runs a command that succeeds. @returns its JSON */
export async function succeed(result: Promise<CommandResult>): Promise<unknown> {
  const { code, out, err } = await result
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

export async function digestOf(
  hermod: (...args: readonly string[]) => Promise<CommandResult>,
): Promise<Digest> {
  return (await succeed(hermod('digest', '--json'))) as Digest
}

/** Exports all of an installation into its folder for exports. */
export function exportMove(place: Installation): Promise<unknown> {
  const args = ['export', '--move', '--to', place.exportFolder, '--drop-undelivered', '--json']
  return succeed(place.hermod(...args))
}

/** The digest of what a portable export has. */
export function portableDigest(place: Installation, ...more: readonly string[]): Promise<Digest> {
  return digestOf((...args) => place.hermod(...args, '--portable', ...more))
}
