import { type ErasureHold, listHolds, releaseHold, setHold } from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { type CommandContext, parseId } from './runtime/command.js'
import { argument, operationCommand, option, required } from './runtime/fields.js'
import { formatTable, record } from './runtime/output.js'

const fields = {
  app_id: argument('<app_id>', 'the application'),
  name: argument('<name>', 'the name of the case'),
}

export function addHoldCommands(program: Command, context: CommandContext): void {
  const hold = program
    .command('hold')
    .description('Keeps users and conversations from erasures and retention.')

  operationCommand(hold, context, {
    name: 'set',
    description: 'Holds a user or a conversation. Safe to repeat; a name may hold several.',
    operation: setHold,
    fields: {
      ...fields,
      user_id: option('--user <user_id>', 'a user, deleted or not', parseId),
      conversation: option(
        '--conversation <ids>',
        'a group, or two users with a comma between them',
        parseIds,
      ),
      reason: required(option('--reason <text>', 'why')),
    },
    text: (held) => record(rowOf(held)),
  })
  operationCommand(hold, context, {
    name: 'release',
    description: 'Releases everything that the name holds.',
    operation: releaseHold,
    fields,
    shown: ({ holds }) => holds,
    text: ({ holds }, { name }) =>
      `The hold ${name} is released (users and conversations that it held: ${holds.length}).`,
  })
  operationCommand(hold, context, {
    name: 'list',
    description: 'Lists holds.',
    operation: listHolds,
    fields: { app_id: argument('[app_id]', 'only those of this application') },
    shown: ({ holds }) => holds,
    text: ({ holds }) => formatTable(holds.map(rowOf), 'Nothing is held.'),
  })
}

function rowOf({ app_id, name, kind, user_id, conversation, reason, held_at }: ErasureHold) {
  const held = kind === 'user' ? String(user_id) : conversation.join(', ')
  return { app_id, name, kind, held, reason, held_at }
}

/** @throws InvalidArgumentError */
function parseIds(text: string): number[] {
  const ids = text.split(',')
  if (ids.length > 2) throw new InvalidArgumentError('It must be a group, or two users.')
  return ids.map((id) => parseId(id.trim()))
}
