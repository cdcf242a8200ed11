import { drainNode, listNodes, type OperatorNode, removeNode } from '@hermod/protocol'
import type { Command } from 'commander'
import type { CommandContext } from './runtime/command.js'
import { argument, operationCommand } from './runtime/fields.js'
import { formatTable, type OutputRow } from './runtime/output.js'

const whichNode = { node_id: argument('<node_id>', 'the node, as hermod nodes shows it') }

export function addNodeCommands(program: Command, context: CommandContext): void {
  const nodes = program
    .command('nodes')
    .description(
      'Lists the nodes of a service on PostgreSQL, lets them end, and removes dead ones.',
    )

  operationCommand(nodes, context, {
    name: 'list',
    description: 'Lists the nodes with their figures (default).',
    operation: listNodes,
    fields: {},
    isDefault: true,
    text: (found) =>
      [
        formatTable(
          found.nodes.map(briefNode),
          'The embedded database has one node, which is not listed.',
        ),
        ...found.notices,
      ].join('\n\n'),
  })
  operationCommand(nodes, context, {
    name: 'drain',
    description: 'Lets a node finish its work, move its sessions to other nodes, and end.',
    operation: drainNode,
    fields: whichNode,
    text: (_, { node_id }) =>
      `The node ${node_id} finishes its work and ends; hermod nodes shows it until then.`,
  })
  operationCommand(nodes, context, {
    name: 'remove',
    description: 'Removes a dead node from the list.',
    operation: removeNode,
    fields: whichNode,
    text: (_, { node_id }) => `The node ${node_id} is removed.`,
  })
}

/** One line of a table. */
function briefNode(node: OperatorNode): OutputRow {
  const { node_id, state, host, version, schema, started_at, connections, shares, bus } = node
  return {
    ...{ node_id, state, host, version, schema, started_at },
    heartbeat: `${(Number(node.heartbeat_age_ms) / 1_000).toFixed(1)} s`,
    connections,
    sends: `${node.sends_per_second}/s`,
    lag: `${node.lag_ms} ms`,
    bus,
    memory: `${Math.round(Number(node.memory_bytes) / 1024 / 1024)} MiB`,
    shares,
  }
}
