import { type Application, applicationStatuses, createApplication, listApplications, updateApplication } from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { type CommandContext, type CommonOptions, given, operatingCommand } from './command.js'
import { type Row, record, table } from './output.js'

type Status = Application['status']

interface CreateOptions extends CommonOptions {
  readonly id?: string
  readonly name?: string
}

interface UpdateOptions extends CommonOptions {
  readonly name?: string
  readonly status?: Status
  readonly openRegistration?: boolean
}

export function addAppCommands(program: Command, context: CommandContext): void {
  const app = program.command('app').description('Makes, lists and changes applications.')

  operatingCommand(app, 'create', 'Makes an application with its first Admin token.')
    .option('--id <app_id>', '2 to 32 of a-z, 0-9, _ and -; chosen by the service when left out')
    .option('--name <name>', 'what people call it')
    .action(async (options: CreateOptions) => {
      const created = await context.operate(createApplication, given({ app_id: options.id, name: options.name }), options)
      context.printer(options).print(created, () => `${record(created)}\n\nKeep the Admin token now: it is not shown again.`)
    })

  operatingCommand(app, 'list', 'Lists the applications.').action(async (options: CommonOptions) => {
    const apps = await context.operate(listApplications, {}, options)
    context.printer(options).print(apps, () => table(apps.map(readable), 'There is no application; make one with hermod app create.'))
  })

  const update = operatingCommand(app, 'update <app_id>', 'Changes an application.')
    .option('--name <name>', 'what people call it')
    .option('--status <normal|disabled>', 'disabled refuses every call to it', parseStatus)
    .option('--open-registration <true|false>', 'whether users may register without a token', parseBoolean)
  update.action(async (appId: string, options: UpdateOptions) => {
    const { name, status, openRegistration } = options
    if (name === undefined && status === undefined && openRegistration === undefined) {
      update.error('error: nothing to change; give --name, --status or --open-registration')
    }
    const params = given({ app_id: appId, name, status, open_registration: openRegistration })
    const updated = await context.operate(updateApplication, params, options)
    context.printer(options).print(updated, () => record(readable(updated)))
  })
}

/** With the status as a word. */
function readable(app: Application): Row {
  return { ...app, status: applicationStatuses[app.status as keyof typeof applicationStatuses] ?? app.status }
}

function parseStatus(input: string): Status {
  const known = Object.entries(applicationStatuses).find(([, word]) => word === input)
  if (known === undefined) throw new InvalidArgumentError(`It must be ${Object.values(applicationStatuses).join(' or ')}.`)
  return Number(known[0])
}

function parseBoolean(input: string): boolean {
  if (input === 'true') return true
  if (input === 'false') return false
  throw new InvalidArgumentError('It must be true or false.')
}
