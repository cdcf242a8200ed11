import { extname } from 'node:path'
import type { Readable } from 'node:stream'
import { importUsers, type ParamsOf } from '@hermod/protocol'
import type { Command } from 'commander'
import { counted } from '../../lib/counted.js'
import { CommandFailure } from '../runtime/call.js'
import { type CommandContext, operatingCommand } from '../runtime/command.js'
import { argument, commandOf, flag, type GivenOptions } from '../runtime/fields.js'
import { fileNote } from '../runtime/files.js'
import { bytesRead, openInput, readable } from '../runtime/input.js'
import { patiently } from '../runtime/patience.js'
import { openProgress, type Progress } from '../runtime/progress.js'
import { type FileEntry, format, readers, type UserFormat, type UserRecord } from './user-file.js'
import { app_id } from './which-user.js'

interface FailedLine {
  readonly line: number
  readonly username: string
  readonly reason: string
}

type UsersToImport = ParamsOf<typeof importUsers>['users']

// A body has at most 1 MiB, and with passwords to hash a call should still be answered within seconds.
const maxBatchUsers = 500
const maxBatchBytes = 512 * 1024
const maxBatchPasswords = 50
/** The most failures that the report for a script lists. */
const maxToldFailures = 1000

export const update = flag(
  '--update',
  'change the profiles of users who are there already; never their passwords or status',
)

const fields = {
  app_id,
  file: argument('<file>', fileNote),
  format,
  update,
}

export function addUserImportCommand(user: Command, context: CommandContext): void {
  const command = operatingCommand(
    user,
    'import',
    'Makes users from a file; safe to repeat. Exit code 1 when a line failed.',
  ).addHelpText('after', help)
  commandOf(command, context, fields, async (values, options) => {
    const { app_id, file, format = formatOf(file), update = false } = values
    await importUserFile(context, options, { app_id, update, file, read: readers[format] })
  })
}

/** A file of users to import. */
export interface UserFile {
  readonly app_id: string
  readonly file: string
  readonly update: boolean
  read(input: Readable): AsyncIterable<FileEntry>
}

/** Imports a file of users. @throws CommandFailure when a line failed */
export async function importUserFile(
  context: CommandContext,
  options: GivenOptions,
  { app_id, file, update, read }: UserFile,
): Promise<void> {
  const { input, bytes } = await openInput(context, file)
  const progress = await openProgress(context.dependencies.stderr, bytes)
  const run = new ImportRun({ context, progress, isJson: options.json ?? false })
  try {
    await context.session(options, async (operate) => {
      for await (const batch of batchesOf(readable(file, read(input)))) {
        await run.take(batch, (users) =>
          patiently(() => operate(importUsers, { app_id, users, update })),
        )
        progress.show(Math.min(bytesRead(input), bytes), run.text())
      }
    })
  } finally {
    input.destroy()
    progress.close()
  }
  context.printer(options).print(run.report(), () => run.text())
  run.requireSuccess()
}

const help = `
Fields: username; password or password_hash (bcrypt, or scrypt or argon2 as a PHC string); nick_name, avatar, description,
mobile, email, public_info, private_info, status (0 normal, 1 disabled), created_at (ms), is_bot;
issuer and subject, the ID of the user in your own system, or a list of several in identities.`

function formatOf(file: string): UserFormat {
  return extname(file).toLowerCase() === '.csv' ? 'csv' : 'ndjson'
}

/** Entries of a file in calls that the server takes. */
async function* batchesOf(entries: AsyncIterable<FileEntry>): AsyncGenerator<readonly FileEntry[]> {
  let batch: FileEntry[] = []
  let [bytes, passwords] = [0, 0]
  for await (const entry of entries) {
    const entryBytes = 'user' in entry ? Buffer.byteLength(JSON.stringify(entry.user)) : 0
    const entryPasswords = 'user' in entry && 'password' in entry.user ? 1 : 0
    const isFull =
      batch.length === maxBatchUsers ||
      bytes + entryBytes > maxBatchBytes ||
      passwords + entryPasswords > maxBatchPasswords
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      ;[bytes, passwords] = [0, 0]
    }
    batch.push(entry)
    bytes += entryBytes
    passwords += entryPasswords
  }
  if (batch.length > 0) yield batch
}

interface RunOptions {
  readonly context: CommandContext
  readonly progress: Progress
  readonly isJson: boolean
}

type SendUsers = (
  users: UsersToImport,
) => Promise<
  readonly { readonly username: string; readonly result: ImportOutcome; readonly reason?: string }[]
>
type ImportOutcome = 'created' | 'exists' | 'updated' | 'failed'

/** Counts the outcomes of the lines and reports failed ones: to people at once, to scripts at the end. */
class ImportRun {
  readonly #counts: Record<ImportOutcome, number> = { created: 0, exists: 0, updated: 0, failed: 0 }
  readonly #failures: FailedLine[] = []
  #withoutPassword = 0
  #lastLine = 0

  constructor(private readonly options: RunOptions) {}

  /** @throws CommandFailure when the call as a whole failed */
  async take(entries: readonly FileEntry[], send: SendUsers): Promise<void> {
    const users = entries.filter((entry) => 'user' in entry)
    const results =
      users.length === 0 ? [] : await this.#send(send, users as readonly { user: UserRecord }[])
    let next = 0
    for (const entry of entries) {
      if ('reason' in entry) this.#fail({ line: entry.line, username: '', reason: entry.reason })
      else this.#count(entry, results[next++])
      this.#lastLine = entry.line
    }
  }

  report() {
    const { created, exists, updated, failed } = this.#counts
    const failures = this.#failures
    return {
      created,
      exists,
      updated,
      failed,
      without_password: this.#withoutPassword,
      failures,
      truncated: failed > failures.length,
    }
  }

  text(): string {
    const { created, exists, updated, failed } = this.#counts
    const summary = `${created} created, ${exists} there already, ${updated} updated, ${failed} failed`
    return this.#withoutPassword === 0
      ? summary
      : `${summary}; ${this.#withoutPassword} of the created have no password`
  }

  /** @throws CommandFailure when a line failed */
  requireSuccess(): void {
    const { failed } = this.#counts
    if (failed > 0)
      throw new CommandFailure(`${counted(failed, 'line')} failed; correct and import them again`)
  }

  async #send(send: SendUsers, entries: readonly { user: UserRecord }[]) {
    try {
      return await send(entries.map(({ user }) => user) as unknown as UsersToImport)
    } catch (error) {
      if (!(error instanceof CommandFailure) || this.#lastLine === 0) throw error
      const rest = `everything up to line ${this.#lastLine} is done; repeat the command to go on`
      throw new CommandFailure(`${error.message}; ${rest}`, error.code)
    }
  }

  #count(
    { line, user }: Extract<FileEntry, { user: UserRecord }>,
    answer: Awaited<ReturnType<SendUsers>>[number] | undefined,
  ): void {
    if (answer === undefined)
      throw new CommandFailure('the server answered less than it was asked; is it another version?')
    if (answer.result === 'failed')
      this.#fail({ line, username: answer.username, reason: answer.reason ?? '' })
    else this.#counts[answer.result]++
    if (answer.result === 'created' && !('password' in user) && !('password_hash' in user))
      this.#withoutPassword++
  }

  #fail(failure: FailedLine): void {
    this.#counts.failed++
    if (!this.options.isJson) {
      const name = failure.username === '' ? '' : ` (${JSON.stringify(failure.username)})`
      this.options.progress.print(`line ${failure.line}${name}: ${failure.reason}`)
    } else if (this.#failures.length < maxToldFailures) this.#failures.push(failure)
  }
}
