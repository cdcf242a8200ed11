import {
  type Application,
  appStatus,
  createApp,
  listApps,
  meaningsOf,
  type ParamsOf,
  updateApp,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from './runtime/command.js'
import { argument, operationCommand, option } from './runtime/fields.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

const statusWords = meaningsOf(appStatus)

type Status = Application['status']
type Settings = NonNullable<ParamsOf<typeof updateApp>['settings']>

export function addAppCommands(program: Command, context: CommandContext): void {
  const app = program.command('app').description('Makes, lists and changes applications.')
  const name = option('--name <name>', 'what people call it')

  operationCommand(app, context, {
    name: 'create',
    description: 'Makes an application with its first Admin token.',
    operation: createApp,
    fields: {
      app_id: option(
        '--id <app_id>',
        '2 to 32 of a-z, 0-9, _ and -; chosen by the service when left out',
      ),
      name,
    },
    text: (created) => `${record(created)}\n\nKeep the Admin token now: it is not shown again.`,
  })
  operationCommand(app, context, {
    name: 'list',
    description: 'Lists the applications.',
    operation: listApps,
    fields: {},
    text: (apps) =>
      formatTable(apps.map(briefApp), 'There is no application; make one with hermod app create.'),
  })
  const update: Command = operationCommand(app, context, {
    name: 'update',
    description: 'Changes an application.',
    operation: updateApp,
    fields: {
      app_id: argument('<app_id>'),
      name,
      status: option(
        '--status <normal|disabled>',
        'disabled refuses every call to it',
        parseStatus,
      ),
      open_registration: option(
        '--open-registration <true|false>',
        'whether users may register without a token',
        parseBoolean,
      ),
      registration_secret: option(
        '--registration-secret <secret>',
        "key of `sign` in /user/register/push; '' asks for none",
      ),
      settings: option(
        '--set <name=value>',
        'a setting, such as recall_seconds=600; may be given several times',
        parseSetting,
      ),
    },
    params(values) {
      if (Object.keys(values).length === 1)
        update.error('error: nothing to change; hermod app update --help lists what can be')
      return values
    },
    text: (updated) => record(readable(updated)),
  })
}

/** An app with its status as a word and its settings as further members. */
function readable({ settings, ...app }: Application): OutputRow {
  return {
    ...app,
    status: statusWords[app.status] ?? app.status,
    ...settings,
  }
}

/** One line of a table. */
function briefApp(app: Application): OutputRow {
  const { app_id, name, status, open_registration, created_at } = readable(app)
  return { app_id, name, status, open_registration, created_at }
}

/** The values stay as typed; the operation parses them (rule B3). */
function parseSetting(input: string, before: Settings = {}): Settings {
  const [, name, value] = /^([a-z_]+)=(.*)$/s.exec(input) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It must be a name and a value, such as recall_seconds=600.')
  return { ...before, [name]: value }
}

function parseStatus(input: string): Status {
  const known = Object.entries(statusWords).find(([, word]) => word === input)
  if (known === undefined)
    throw new InvalidArgumentError(`It must be ${Object.values(statusWords).join(' or ')}.`)
  return Number(known[0])
}

function parseBoolean(input: string): boolean {
  if (input === 'true') return true
  if (input === 'false') return false
  throw new InvalidArgumentError('It must be true or false.')
}
