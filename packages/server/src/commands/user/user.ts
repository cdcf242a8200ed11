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
import type { Command } from 'commander'
import { CommandFailure } from '../runtime/call.js'
import { type CommandContext, parseId } from '../runtime/command.js'
import {
  argument,
  byDefault,
  flag,
  moreText,
  operationCommand,
  option,
  readAs,
} from '../runtime/fields.js'
import { formatTable, type OutputRow, record } from '../runtime/output.js'
import { addUserErasureCommands } from './user-erase.js'
import { addUserExportCommand } from './user-export.js'
import { addUserImportCommand } from './user-import.js'
import { app_id, userFields, withUserFields } from './which-user.js'

const statusWords: Readonly<Record<number, string>> = {
  [userStatus.normal]: 'normal',
  [userStatus.disabled]: 'disabled',
}
const maxPasswordBytes = 4096

const password = readAs(
  flag(
    '--password-stdin',
    'read the password from standard input; without it one is made and shown once',
  ),
  (_, context) => passwordOf(context),
)

type WithPassword = OutputRow & { readonly password: string }

/** The output of a call that may have made a password; one that the caller knows is left out. */
const withMadePassword = {
  shown({ password, ...user }: WithPassword): OutputRow {
    return password === '' ? user : { ...user, password }
  },
  text(user: WithPassword): string {
    const note = user.password === '' ? '' : '\n\nKeep the password now: it is not shown again.'
    return record(withMadePassword.shown(user)) + note
  },
}

export function addUserCommands(program: Command, context: CommandContext): void {
  const user = program.command('user').description('Makes, moves, lists and changes users.')

  operationCommand(user, context, {
    name: 'create',
    description: 'Makes a user.',
    operation: createUser,
    fields: {
      app_id,
      username: argument('<username>'),
      password,
      nick_name: option('--nick-name <name>', 'what others see'),
      mobile: option('--mobile <number>', 'a way to log in'),
      email: option('--email <address>', 'a way to log in'),
    },
    ...withMadePassword,
  })

  addUserImportCommand(user, context)
  addUserExportCommand(user, context)

  operationCommand(user, context, {
    name: 'list',
    description: 'Lists users by user ID.',
    operation: exportUsers,
    fields: {
      app_id,
      limit: byDefault(option('--limit <number>', 'at most this many, up to 500', parseId), 50),
      cursor: option('--after <user_id>', 'where the list before this one ended', (text) =>
        String(parseId(text)),
      ),
    },
    shown: ({ users }) => users,
    text: (found, { app_id }) =>
      formatTable(found.users.map(briefUser), `${app_id} has no such user.`) + moreText(found),
  })

  for (const [name, operation, description] of [
    ['disable', disableUser, 'Keeps a user from logging in and sending; tokens end at once.'],
    ['enable', enableUser, 'Lets a disabled user log in again.'],
  ] as const) {
    operationCommand(user, context, {
      name,
      description,
      operation,
      fields: userFields,
      params: withUserFields,
      text: (changed) => record(withStatus(changed)),
    })
  }

  operationCommand(user, context, {
    name: 'delete',
    description: 'Deletes a user for good; messages stay for the others.',
    operation: deleteUserByOperator,
    fields: userFields,
    params: withUserFields,
    text: ({ user_id, deleted }, { app_id }) =>
      `User ${user_id} of ${app_id} ${deleted ? 'is deleted' : 'was deleted before'}.`,
  })
  operationCommand(user, context, {
    name: 'reset-password',
    description: 'Sets the password of a user; tokens end at once.',
    operation: resetUserPassword,
    fields: { ...userFields, password },
    params: withUserFields,
    ...withMadePassword,
  })

  addUserErasureCommands(user, context)
}

async function passwordOf({ dependencies }: CommandContext): Promise<string> {
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

function withStatus(user: Pick<OperatorUser, 'status'>): OutputRow {
  return { ...user, status: statusWords[user.status] ?? user.status }
}

function briefUser(user: ExportedUser): OutputRow {
  const { user_id, username, nick_name, created_at, is_bot: bot, has_password: password } = user
  const { status } = withStatus(user)
  const identities = user.identities.map(({ issuer, subject }) => `${issuer} ${subject}`).join(', ')
  return { user_id, username, nick_name, created_at, password, bot, identities, status }
}
