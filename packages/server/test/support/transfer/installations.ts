/** Installations without a service, and the commands that move data between them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Backend, memoryDisk, TempFolder } from '@hermod/testkit'
import type { Digest } from '../../../dist/transfer/digest.js'
import { callHermod, type CommandResult } from '../hermod-command.js'

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
