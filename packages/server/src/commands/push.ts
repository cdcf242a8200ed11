import {
  cancelPushTask,
  getPushTask,
  listPushTasks,
  meaningsOf,
  type PushTaskProgress,
  type PushTrace,
  type PushTraceDevice,
  platform,
  pushTaskState,
  tracePushByOperator,
} from '@hermod/protocol'
import { type Command, Option } from 'commander'
import { definedOnly } from '../lib/defined-only.js'
import { CommandFailure } from './runtime/call.js'
import {
  type AppOptions,
  type CommandContext,
  ofApp,
  operatingCommand,
  parseId,
} from './runtime/command.js'
import type { OptionNames } from './runtime/option-names.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

interface ListTasksOptions extends AppOptions {
  readonly limit: number
  readonly after?: string
}

interface TraceOptions extends AppOptions {
  readonly task?: number
  readonly message?: number
}

const optionNames: OptionNames = {
  app_id: 'the application of --app',
  user_id: '<user_id>',
  task_id: '<task_id>',
  cursor: '--after',
  limit: '--limit',
}
const traceNames = { ...optionNames, task_id: '--task', msg_id: '--message' }

const stateWords = meaningsOf(pushTaskState)
const platformWords = meaningsOf(platform)

export function addPushCommands(program: Command, context: CommandContext): void {
  const push = program
    .command('push')
    .description('Shows and cancels push tasks, and explains what became of a push.')
  const ofTask = (name: string, description: string) =>
    ofApp(operatingCommand(push, name, description)).argument(
      '<task_id>',
      'as /push/notify answers it',
      parseId,
    )

  ofApp(operatingCommand(push, 'list', 'Lists push tasks, newest first.'))
    .addOption(
      new Option('--limit <number>', 'at most this many, up to 200').default(50).argParser(parseId),
    )
    .option('--after <cursor>', 'where the list before this one ended')
    .action(async ({ limit, after, ...options }: ListTasksOptions) => {
      const params = definedOnly({ app_id: options.app, limit, cursor: after })
      const page = await context.operate(listPushTasks, params, options, optionNames)
      const more = page.next_cursor === '' ? '' : `\n\nThere are more: --after ${page.next_cursor}`
      const nothing = `${options.app} has no ${after === undefined ? '' : 'more '}push tasks.`
      context
        .printer(options)
        .print(page, () => formatTable(page.tasks.map(briefTask), nothing) + more)
    })

  ofTask('show', 'Shows how far a push task is, and what it counts.').action(
    async (taskId: number, options: AppOptions) => {
      const params = { app_id: options.app, task_id: taskId }
      const task = await context.operate(getPushTask, params, options, optionNames)
      context.printer(options).print(task, () => taskText(task))
    },
  )

  ofTask('cancel', 'Ends a push task; nothing more is sent of it.').action(
    async (taskId: number, options: AppOptions) => {
      const params = { app_id: options.app, task_id: taskId }
      const task = await context.operate(cancelPushTask, params, options, optionNames)
      context.printer(options).print(task, () => taskText(task))
    },
  )

  ofApp(operatingCommand(push, 'trace', 'Explains what became of a push for one user.'))
    .argument('<user_id>', 'the user', parseId)
    .option('--task <task_id>', 'the push task', parseId)
    .option('--message <msg_id>', 'the message that was pushed', parseId)
    .action(async (userId: number, { task, message, ...options }: TraceOptions) => {
      if ((task === undefined) === (message === undefined))
        throw new CommandFailure('give either --task or --message')
      const which = definedOnly({ task_id: task, msg_id: message })
      const params = { app_id: options.app, user_id: userId, ...which }
      const trace = await context.operate(tracePushByOperator, params, options, traceNames)
      context.printer(options).print(trace, () => traceText(trace))
    })
}

/** One line of a table. */
function briefTask(task: PushTaskProgress): OutputRow {
  const { task_id, msg_id, devices, finished, created_at, begins_at, audience } = task
  const state = stateWords[task.state] ?? task.state
  const estimated_users = task.estimated_users ?? ''
  const progress = { state, estimated_users, devices, finished }
  return { task_id, msg_id, ...progress, created_at, begins_at, audience }
}

function taskText({ counts, ...task }: PushTaskProgress): string {
  const head = record({ ...task, state: stateWords[task.state] ?? task.state })
  return `${head}\n\n${formatTable(counts, 'It has no device on any channel.')}`
}

/** The push, the user, and the events of each device. */
function traceText({ task, user_id, text, devices }: PushTrace): string {
  const state = stateWords[task.state] ?? task.state
  const message = task.msg_id === 0 ? '' : `, of message ${task.msg_id}`
  const { estimated_users: users } = task
  const estimate = users === undefined ? '' : `, for about ${users} user${users === 1 ? '' : 's'}`
  return [
    `Push ${task.task_id}${message}, for ${task.audience}: ${state}`,
    `  made ${time(task.created_at)}, from ${time(task.begins_at)} to ${time(task.expires_at)}${estimate}`,
    '',
    `User ${user_id}: ${text}`,
    ...devices.flatMap((device) => ['', ...deviceLines(device)]),
  ].join('\n')
}

function deviceLines(device: PushTraceDevice): string[] {
  const system = device.platform === platform.unknown ? '' : `, ${platformWords[device.platform]}`
  const removed = device.is_present ? '' : ', removed since'
  return [
    `  Device ${device.device_sn}${system}${removed}: ${device.text}`,
    ...device.bindings.map(
      ({ notifier_name, channel, bound_at, paused_until }) =>
        `    bound since ${time(bound_at)}: ${notifier_name} (${channel || 'no such certificate'})${
          paused_until === 0 ? '' : `, paused until ${time(paused_until)}`
        }`,
    ),
    ...(device.delivery?.steps ?? []).map(({ at, text }) => `    ${time(at)}  ${text}`),
  ]
}

function time(at: number | bigint): string {
  return new Date(Number(at)).toISOString()
}
