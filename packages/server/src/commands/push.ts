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
import type { Command } from 'commander'
import { counted } from '../lib/counted.js'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, parseId } from './runtime/command.js'
import { app, argument, moreText, operationCommand, option, page } from './runtime/fields.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

const stateWords = meaningsOf(pushTaskState)
const platformWords = meaningsOf(platform)

const taskFields = {
  app_id: app,
  task_id: argument('<task_id>', 'as /push/notify answers it', parseId),
}

export function addPushCommands(program: Command, context: CommandContext): void {
  const push = program
    .command('push')
    .description('Shows and cancels push tasks, and explains what became of a push.')

  operationCommand(push, context, {
    name: 'list',
    description: 'Lists push tasks, newest first.',
    operation: listPushTasks,
    namesOptions: true,
    fields: { app_id: app, ...page },
    text(found, { app_id, cursor }) {
      const nothing = `${app_id} has no ${cursor === undefined ? '' : 'more '}push tasks.`
      return formatTable(found.tasks.map(briefTask), nothing) + moreText(found)
    },
  })
  operationCommand(push, context, {
    name: 'show',
    description: 'Shows how far a push task is, and what it counts.',
    operation: getPushTask,
    namesOptions: true,
    fields: taskFields,
    text: taskText,
  })
  operationCommand(push, context, {
    name: 'cancel',
    description: 'Ends a push task; nothing more is sent of it.',
    operation: cancelPushTask,
    namesOptions: true,
    fields: taskFields,
    text: taskText,
  })
  operationCommand(push, context, {
    name: 'trace',
    description: 'Explains what became of a push for one user.',
    operation: tracePushByOperator,
    namesOptions: true,
    fields: {
      app_id: app,
      user_id: argument('<user_id>', 'the user', parseId),
      task_id: option('--task <task_id>', 'the push task', parseId),
      msg_id: option('--message <msg_id>', 'the message that was pushed', parseId),
    },
    params(values) {
      if ((values.task_id === undefined) === (values.msg_id === undefined))
        throw new CommandFailure('give either --task or --message')
      return values
    },
    text: traceText,
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
  const estimate = users === undefined ? '' : `, for about ${counted(users, 'user')}`
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
