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
import { definedOnly } from '../lib/defined-only.js'
import { type CommandContext, type CommonOptions, operatingCommand } from './runtime/command.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

const statusWords = meaningsOf(appStatus)

type Status = Application['status']
type Changes = ParamsOf<typeof updateApp>

interface CreateAppOptions extends CommonOptions {
  readonly id?: string
  readonly name?: string
}

interface UpdateOptions extends CommonOptions {
  readonly name?: string
  readonly status?: Status
  readonly openRegistration?: boolean
  readonly registrationSecret?: string
  readonly set?: Settings
}

/** Values as typed; the operation parses them (rule B3). */
type Settings = Readonly<Record<string, string>>

export function addAppCommands(program: Command, context: CommandContext): void {
  const app = program.command('app').description('Makes, lists and changes applications.')

  operatingCommand(app, 'create', 'Makes an application with its first Admin token.')
    .option('--id <app_id>', '2 to 32 of a-z, 0-9, _ and -; chosen by the service when left out')
    .option('--name <name>', 'what people call it')
    .action(async (options: CreateAppOptions) => {
      const created = await context.operate(
        createApp,
        definedOnly({ app_id: options.id, name: options.name }),
        options,
      )
      context
        .printer(options)
        .print(
          created,
          () => `${record(created)}\n\nKeep the Admin token now: it is not shown again.`,
        )
    })

  operatingCommand(app, 'list', 'Lists the applications.').action(
    async (options: CommonOptions) => {
      const apps = await context.operate(listApps, {}, options)
      context
        .printer(options)
        .print(apps, () =>
          formatTable(
            apps.map(briefApp),
            'There is no application; make one with hermod app create.',
          ),
        )
    },
  )

  const update = operatingCommand(app, 'update <app_id>', 'Changes an application.')
    .option('--name <name>', 'what people call it')
    .option('--status <normal|disabled>', 'disabled refuses every call to it', parseStatus)
    .option(
      '--open-registration <true|false>',
      'whether users may register without a token',
      parseBoolean,
    )
    .option(
      '--registration-secret <secret>',
      "key of `sign` in /user/register/push; '' asks for none",
    )
    .option(
      '--set <name=value>',
      'a setting, such as recall_seconds=600; may be given several times',
      parseSetting,
    )
  update.action(async (appId: string, options: UpdateOptions) => {
    const {
      name,
      status,
      openRegistration: open_registration,
      registrationSecret: registration_secret,
      set: settings,
    } = options
    const changes = definedOnly({
      name,
      status,
      open_registration,
      registration_secret,
      settings: settings as Changes['settings'],
    })
    if (Object.keys(changes).length === 0)
      update.error('error: nothing to change; hermod app update --help lists what can be')
    const updated = await context.operate(updateApp, { app_id: appId, ...changes }, options)
    context.printer(options).print(updated, () => record(readable(updated)))
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
