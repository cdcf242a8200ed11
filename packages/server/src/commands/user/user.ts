import {
  createUser,
  deleteUserByOperator,
  disableUser,
  type ExportedUser,
  enableUser,
  exportUsers,
  type OperatorUser,
  resetUserPassword,
  userStatus,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { definedOnly } from '../../lib/defined-only.js'
import { CommandFailure } from '../runtime/call.js'
import { type CommandContext, type CommonOptions, operatingCommand } from '../runtime/command.js'
import { formatTable, type OutputRow, record } from '../runtime/output.js'
import { addUserExportCommand } from './user-export.js'
import { addUserImportCommand } from './user-import.js'

interface PasswordOptions extends CommonOptions {
  readonly passwordStdin?: boolean
}

interface CreateUserOptions extends PasswordOptions {
  readonly nickName?: string
  readonly mobile?: string
  readonly email?: string
}

interface ListOptions extends CommonOptions {
  readonly limit: number
  readonly after?: number
}

/** A user as an argument: a username contains a character that is no digit, so digits are an ID. */
type Which = { readonly user_id: number } | { readonly username: string }

const appArgument = '<app_id>'
const userArgument = '<user>'
const statusWords: Readonly<Record<number, string>> = {
  [userStatus.normal]: 'normal',
  [userStatus.disabled]: 'disabled',
}
const maxPasswordBytes = 4096

export function addUserCommands(program: Command, context: CommandContext): void {
  const user = program.command('user').description('Makes, moves, lists and changes users.')
  const ofOneUser = (name: string, description: string) =>
    operatingCommand(user, name, description)
      .argument(appArgument, 'the application')
      .argument(userArgument, 'username or user ID', which)

  withPassword(
    operatingCommand(user, 'create', 'Makes a user.')
      .argument(appArgument, 'the application')
      .argument('<username>'),
  )
    .option('--nick-name <name>', 'what others see')
    .option('--mobile <number>', 'a way to log in')
    .option('--email <address>', 'a way to log in')
    .action(
      async (
        appId: string,
        username: string,
        { nickName: nick_name, mobile, email, ...options }: CreateUserOptions,
      ) => {
        const password = await passwordOf(context, options)
        const params = definedOnly({ app_id: appId, username, password, nick_name, mobile, email })
        printPassword(context, await context.operate(createUser, params, options), options)
      },
    )

  addUserImportCommand(user, context)
  addUserExportCommand(user, context)

  operatingCommand(user, 'list', 'Lists users by user ID.')
    .argument(appArgument, 'the application')
    .addOption(
      new Option('--limit <number>', 'at most this many, up to 500')
        .default(50)
        .argParser(parseCount),
    )
    .option('--after <user_id>', 'where the list before this one ended', parseCount)
    .action(async (appId: string, { limit, after, ...options }: ListOptions) => {
      const params = definedOnly({
        app_id: appId,
        limit,
        cursor: after === undefined ? undefined : String(after),
      })
      const page = await context.operate(exportUsers, params, options)
      const more = page.next_cursor === '' ? '' : `\n\nThere are more: --after ${page.next_cursor}`
      context
        .printer(options)
        .print(
          page.users,
          () => formatTable(page.users.map(briefUser), `${appId} has no such user.`) + more,
        )
    })

  for (const [name, operation, effect] of [
    ['disable', disableUser, 'Keeps a user from logging in and sending; tokens end at once.'],
    ['enable', enableUser, 'Lets a disabled user log in again.'],
  ] as const) {
    ofOneUser(name, effect).action(async (appId: string, named: Which, options: CommonOptions) => {
      const changed = await context.operate(operation, { app_id: appId, ...named }, options)
      context.printer(options).print(changed, () => record(withStatus(changed)))
    })
  }

  ofOneUser('delete', 'Deletes a user for good; messages stay for the others.').action(
    async (appId: string, named: Which, options: CommonOptions) => {
      const answer = await context.operate(
        deleteUserByOperator,
        { app_id: appId, ...named },
        options,
      )
      const text = answer.deleted ? 'is deleted' : 'was deleted before'
      context.printer(options).print(answer, () => `User ${answer.user_id} of ${appId} ${text}.`)
    },
  )

  withPassword(
    ofOneUser('reset-password', 'Sets the password of a user; tokens end at once.'),
  ).action(async (appId: string, named: Which, options: PasswordOptions) => {
    const params = definedOnly({
      app_id: appId,
      ...named,
      password: await passwordOf(context, options),
    })
    printPassword(context, await context.operate(resetUserPassword, params, options), options)
  })
}

function withPassword(command: Command): Command {
  return command.option(
    '--password-stdin',
    'read the password from standard input; without it one is made and shown once',
  )
}

/** @returns undefined when the service is to make one */
async function passwordOf(
  { dependencies }: CommandContext,
  { passwordStdin = false }: PasswordOptions,
): Promise<string | undefined> {
  if (!passwordStdin) return undefined
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of dependencies.stdin) {
    chunks.push(Buffer.from(chunk))
    length += chunk.length
    if (length > maxPasswordBytes)
      throw new CommandFailure('standard input holds more than a password')
  }
  const password = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (password === '') throw new CommandFailure('standard input holds no password')
  return password
}

/** Without the password when the caller knows it. */
function printPassword(
  context: CommandContext,
  user: OutputRow & { readonly password: string },
  options: CommonOptions,
): void {
  const { password, ...rest } = user
  const isMade = password !== ''
  const shown = isMade ? user : rest
  const note = isMade ? '\n\nKeep the password now: it is not shown again.' : ''
  context.printer(options).print(shown, () => `${record(shown)}${note}`)
}

function withStatus(user: OperatorUser): OutputRow {
  return { ...user, status: statusWords[user.status] ?? user.status }
}

function briefUser(user: ExportedUser): OutputRow {
  const { user_id, username, nick_name, status, created_at } = user
  return withStatus({ user_id, username, nick_name, created_at, status } as OperatorUser)
}

function which(input: string): Which {
  return /^\d+$/.test(input) ? { user_id: parseCount(input) } : { username: input }
}

function parseCount(input: string): number {
  if (!/^\d+$/.test(input) || !Number.isSafeInteger(Number(input)))
    throw new InvalidArgumentError('It must be a positive integer.')
  return Number(input)
}
