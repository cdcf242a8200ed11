import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { UserCheck, type UserSummary } from '../../imports/csv/user-check.js'
import { textBytes } from '../../imports/item-file.js'
import { usernameOf } from '../../imports/stream/stream-texts.js'
import { counted } from '../../lib/counted.js'
import { CommandFailure } from '../runtime/call.js'
import { type CommandContext, type CommandWork, operatingCommand } from '../runtime/command.js'
import { withProgress } from '../runtime/command-work.js'
import { argument, commandOf, flag, option } from '../runtime/fields.js'
import { fileNote } from '../runtime/files.js'
import { bytesRead, openInput, readable } from '../runtime/input.js'
import { formatTable } from '../runtime/output.js'
import { type FileEntry, readCsv } from '../user/user-file.js'
import { importUserFile, update } from '../user/user-import.js'
import { temporary, withTemporaryFolder } from './temporary.js'

const fields = {
  file: argument('<file>', `comma-separated values (RFC 4180) in UTF-8; ${fileNote}`),
  check: flag('--check', 'only reads the file, without a service, and prints what is wrong'),
  app_id: option('--app <app_id>', 'the application'),
  issuer: option('--issuer <issuer>', 'the issuer of rows without one'),
  update,
  temporary,
}

const linesPerProgress = 1_000

const help = `
The first row names the columns. Needed: subject, and issuer unless --issuer gives it. Others: username (default: made from
the subject), nick_name, avatar, description, mobile, email, public_info, private_info, status, created_at (ms), is_bot,
password or password_hash, as in hermod user import. Run it again after an interruption: users who are there stay.`

export function addCsvCommand(parent: Command, context: CommandContext): void {
  const command = operatingCommand(
    parent,
    'csv',
    'Imports users from a table, with their IDs in your own system. Exit code 1 when a row failed.',
  ).addHelpText('after', help)
  commandOf(command, context, fields, async (values, options) => {
    const { file, check = false, app_id, issuer, update = false } = values
    const read = (input: Readable) =>
      withIssuer(readCsv(Readable.from(textBytes(input, file)), 'subject'), issuer)
    if (!check) {
      if (app_id === undefined)
        throw new CommandFailure('give --app <app_id>, or --check to read the file only')
      await importUserFile(context, options, { app_id, file, update, read })
      return
    }
    const summary = await withTemporaryFolder(values.temporary, (folder) =>
      withProgress(context, options, (work) => checkFile(context, { file, folder, read }, work)),
    )
    context.printer(options).print(summary, () => checkText(summary))
    if (summary.faults > 0)
      throw new CommandFailure(`${counted(summary.faults, 'row')} cannot be imported; correct them`)
  })
}

/** Completes rows by the issuer of the option and a username made of the subject. */
async function* withIssuer(
  entries: AsyncIterable<FileEntry>,
  issuer: string | undefined,
): AsyncGenerator<FileEntry> {
  for await (const entry of entries)
    yield 'user' in entry ? { line: entry.line, ...completed(entry.user, issuer) } : entry
}

function completed(user: Extract<FileEntry, { readonly user: unknown }>['user'], issuer?: string) {
  const identities = (user.identities ?? []) as readonly {
    readonly issuer?: string
    readonly subject?: string
  }[]
  const own = identities.at(-1)
  if (own?.subject === undefined) return { reason: 'has no subject' }
  if (own.issuer === undefined && issuer === undefined)
    return { reason: 'has no issuer; name it in the column issuer or by --issuer' }
  return {
    user: {
      username: usernameOf(own.subject),
      ...user,
      identities: [...identities.slice(0, -1), { issuer, ...definedOf(own) }],
    },
  }
}

function definedOf(identity: object): object {
  return Object.fromEntries(Object.entries(identity).filter(([, value]) => value !== undefined))
}

interface CheckedFile {
  readonly file: string
  readonly folder: string
  read(input: Readable): AsyncIterable<FileEntry>
}

async function checkFile(
  context: CommandContext,
  { file, folder, read }: CheckedFile,
  { signal, progress }: CommandWork,
): Promise<UserSummary> {
  const { passwordMinLength } = context.load().config.accounts
  using checked = new UserCheck(folder, { now: context.now(), passwordMinLength })
  const { input, bytes } = await openInput(context, file, signal)
  try {
    for await (const entry of readable(file, read(input))) {
      if ('user' in entry) checked.add(entry.line, entry.user)
      else checked.fail(entry)
      if (entry.line % linesPerProgress === 0)
        progress({
          done: Math.min(bytesRead(input), bytes),
          total: bytes,
          text: counted(entry.line, 'line'),
        })
    }
    return checked.end()
  } finally {
    input.destroy()
  }
}

function checkText({ mapped, faults, reasons, samples }: UserSummary): string {
  return [
    `${counted(mapped, 'user')} can be imported, ${counted(faults, 'row')} cannot.`,
    ...(faults === 0 ? [] : [formatTable(reasons, ''), formatTable(samples, '')]),
  ].join('\n\n')
}
